"""The base machines: every number of a healthy node agrees wherever it is told, and agrees with the profile."""

import json
import posixpath
import re

import pytest

from fleetcheck.facts import dcgm
from fleetcheck.profiles import load_profile, shipped_profiles
from fleetcheck.sandbox.machine import describe, machine
from fleetcheck.sandbox.native import SYMBOLS, nvml_state
from fleetcheck.sandbox.tree import Tree
from fleetcheck.sandbox.values import command_name

NOW = 1_796_000_000
NAMES = sorted(path.stem for path in shipped_profiles().glob("*.yaml"))
GPU_NAMES = [name for name in NAMES if name != "cpu-host"]


def profile(name):
    return load_profile(name, shipped_profiles().parent / "sandbox.yaml")


def built(name, number=1):
    return machine(profile(name), f"n{number:02}", number, NOW)


@pytest.fixture(params=NAMES)
def healthy(request):
    return built(request.param)


@pytest.fixture(params=GPU_NAMES)
def with_gpus(request):
    return built(request.param)


def nvml(built_machine, call, gpu=None, **args):
    """What the last rule with exactly these arguments says."""
    found = [rule for rule in built_machine.nvml if (rule.call, rule.gpu, dict(rule.args)) == (call, gpu, args)]
    assert found, f"no rule for {call} of GPU {gpu} with {args}"
    return found[-1].value


def said(built_machine, command):
    return built_machine.commands[command]["stdout"]


def read(built_machine, path):
    tree = Tree(built_machine.files)
    return tree.files[tree.resolved(path)]


def listed(built_machine, folder):
    return {path[len(folder) + 1:].split("/")[0] for path in built_machine.files if path.startswith(f"{folder}/")}


def test_the_same_arguments_give_the_same_machine():
    assert built("h100-sxm5-8") == built("h100-sxm5-8")


def test_every_rule_answers_a_call_of_the_simulated_library(healthy):
    assert {rule.call for rule in healthy.nvml} <= set(SYMBOLS)
    assert nvml_state(healthy.nvml, [slot.index for slot in healthy.gpus], NOW)


def test_every_gpu_call_of_the_library_has_an_answer_of_its_own(with_gpus):
    left_to_the_library = {"nvmlErrorString", "nvmlShutdown", "nvmlInit_v2", "nvmlInitWithFlags", "nvmlDeviceGetCount_v2"}
    answered = {rule.call for rule in with_gpus.nvml}
    asked = {name for name in SYMBOLS if "GetHandle" not in name and "Event" not in name and name != "nvmlDeviceGetIndex"}
    assert not asked - answered - left_to_the_library


def test_links_lead_to_something(healthy):
    tree = Tree(healthy.files)
    folders = {parent for path in tree.files for parent in parents(path)}
    links = [path for path, content in tree.files.items() if isinstance(content, dict) and "link" in content]
    assert links
    assert not [path for path in links if tree.resolved(path) not in tree.files and tree.resolved(path) not in folders]


def parents(path):
    while path != "/":
        path = posixpath.dirname(path)
        yield path


def test_no_file_lies_below_another(healthy):
    files = {path for path, content in healthy.files.items() if isinstance(content, str) or "text" in content}
    assert not [path for path in files if files & set(parents(path))]


def test_nodes_of_a_profile_share_what_does_not_name_them():
    one, other = built("h100-sxm5-8", 1), built("h100-sxm5-8", 2)
    assert one.shared is other.shared
    assert len(one.shared) > len(one.files) / 2
    assert not [path for path, content in one.shared.items() if isinstance(content, str) and "n01" in content]


def test_gpus_sit_at_the_same_addresses_everywhere(with_gpus):
    addresses = [slot.bus_id for slot in with_gpus.gpus]
    assert addresses == [nvml(with_gpus, "nvmlDeviceGetPciInfo_v3", slot.index)["busId"][4:].lower() for slot in with_gpus.gpus]
    gpus_in_sysfs = sorted(name for name in listed(with_gpus, "/sys/bus/pci/devices") if read(
        with_gpus, f"/sys/bus/pci/devices/{name}/class") == "0x030200\n")
    assert sorted(addresses) == gpus_in_sysfs
    assert set(addresses) == listed(with_gpus, "/proc/driver/nvidia/gpus")
    assert sorted(addresses) == re.findall(r"^(\S+) 3D controller", said(with_gpus, "lspci"), re.MULTILINE)
    assert [slot.nvml_bus_id for slot in with_gpus.gpus] == re.findall(r"^GPU (\S+)$", said(with_gpus, "nvidia-smi -q"), re.MULTILINE)


def test_gpus_have_the_same_identity_everywhere(with_gpus):
    for slot in with_gpus.gpus:
        assert slot.uuid == nvml(with_gpus, "nvmlDeviceGetUUID", slot.index)
        assert slot.serial == nvml(with_gpus, "nvmlDeviceGetSerial", slot.index)
        assert f"(UUID: {slot.uuid})" in said(with_gpus, "nvidia-smi -L")
        information = with_gpus.files[f"/proc/driver/nvidia/gpus/{slot.bus_id}/information"]
        assert f"GPU UUID: \t {slot.uuid}\n" in information
        assert f"Device Minor: \t {slot.minor}\n" in information
        assert f"/dev/nvidia{slot.minor}" in with_gpus.files


def test_the_driver_has_one_version_everywhere(with_gpus):
    version = nvml(with_gpus, "nvmlSystemGetDriverVersion")
    assert f"{version}\n" == with_gpus.files["/sys/module/nvidia/version"]
    assert f"  {version}  Release Build" in with_gpus.files["/proc/driver/nvidia/version"]
    assert any(f"  {version}  Release Build" in line for line in with_gpus.kmsg)
    assert version in said(with_gpus, "nvidia-smi -q")
    for program in ("nv-fabricmanager --version", "nvidia-imex --version"):
        assert version in with_gpus.commands.get(program, {"stdout": version})["stdout"]


def test_links_of_gpus_run_at_the_same_width_and_speed_in_nvml_and_sysfs(with_gpus):
    speeds = {1: "2.5 GT/s PCIe\n", 4: "16.0 GT/s PCIe\n", 5: "32.0 GT/s PCIe\n"}
    for slot in with_gpus.gpus:
        folder = f"/sys/bus/pci/devices/{slot.bus_id}"
        assert f"{nvml(with_gpus, 'nvmlDeviceGetCurrPcieLinkWidth')}\n" == read(with_gpus, f"{folder}/current_link_width")
        generation = nvml(with_gpus, "nvmlDeviceGetCurrPcieLinkGeneration", slot.index)
        assert speeds[generation] == read(with_gpus, f"{folder}/current_link_speed")


def test_what_the_profile_states_is_what_the_machine_shows(with_gpus):
    gpu = with_gpus.profile.gpu
    assert nvml(with_gpus, "nvmlDeviceGetName") in gpu.product.allowed
    assert len(with_gpus.gpus) in gpu.count
    assert nvml(with_gpus, "nvmlDeviceGetMemoryInfo_v2")["total"] in gpu.memory_bytes
    assert nvml(with_gpus, "nvmlDeviceGetPowerManagementLimit") / 1000 in gpu.power_limit_watts
    links = [rule for rule in with_gpus.nvml if rule.call == "nvmlDeviceGetNvLinkState" and rule.value == 1]
    assert len(links) in gpu.nvlinks
    assert nvml(with_gpus, "nvmlDeviceGetFieldValues", field=164, scope=0) in gpu.nvlink_mbytes_per_second


def test_processors_and_memory_are_the_profiles(healthy):
    stated = healthy.profile.cpu
    online = read(healthy, "/sys/devices/system/cpu/online").strip()
    threads = int(online.partition("-")[2]) + 1
    assert threads in stated.threads
    assert threads == read(healthy, "/proc/cpuinfo").count("processor\t:") == int(said(healthy, "nproc"))
    topology = [(read(healthy, f"/sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id"),
                 read(healthy, f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")) for cpu in range(threads)]
    assert len(set(topology)) in stated.cores
    assert len({socket for socket, _ in topology}) in stated.sockets
    assert len([name for name in listed(healthy, "/sys/devices/system/node") if name.startswith("node")]) in stated.numa_nodes
    total = int(re.search(r"^MemTotal: +(\d+) kB$", read(healthy, "/proc/meminfo"), re.MULTILINE)[1]) * 1024
    assert total in healthy.profile.memory.total_bytes
    assert str(total) in said(healthy, "free -b")


def test_every_thread_belongs_to_one_numa_node(healthy):
    lists = [content.strip() for path, content in healthy.files.items() if re.fullmatch(r"/sys/devices/system/node/node\d+/cpulist", path)]
    spans = [tuple(map(int, (span.split("-") * 2)[:2])) for text in lists if text for span in text.split(",")]
    threads = [cpu for low, high in spans for cpu in range(low, high + 1)]
    assert sorted(threads) == list(range(int(said(healthy, "nproc"))))


def test_ports_are_told_alike_by_sysfs_and_by_programs(with_gpus):
    for name in listed(with_gpus, "/sys/class/infiniband"):
        folder = f"/sys/class/infiniband/{name}"
        assert f"state:\t\t {read(with_gpus, f'{folder}/ports/1/state')}" in said(with_gpus, f"ibstatus {name}")
        assert f"Firmware version: {read(with_gpus, f'{folder}/fw_ver')}" in said(with_gpus, f"ibstat {name}")
        guid = read(with_gpus, f"{folder}/node_guid").strip().replace(":", "")
        assert f"Node GUID: 0x{guid}\n" in said(with_gpus, f"ibstat {name}")


def test_a_port_that_the_profile_leaves_out_is_down_by_design(with_gpus):
    down = [name for name in listed(with_gpus, "/sys/class/infiniband")
            if read(with_gpus, f"/sys/class/infiniband/{name}/ports/1/state") == "1: DOWN\n"]
    assert len(down) == 1
    assert down[0] not in with_gpus.profile.hcas.names
    assert read(with_gpus, f"/sys/class/infiniband/{down[0]}/ports/1/phys_state") == "3: Disabled\n"


def test_network_interfaces_carry_the_profiles_names(healthy):
    names = healthy.profile.links.names if healthy.profile.links else ("eth0",)
    assert set(names) <= listed(healthy, "/sys/class/net")
    for name in names:
        assert f"Speed: {read(healthy, f'/sys/class/net/{name}/speed').strip()}Mb/s" in said(healthy, f"ethtool {name}")


def test_drives_are_told_alike_by_sysfs_and_by_programs(healthy):
    names = listed(healthy, "/sys/class/nvme")
    assert names == {entry["DevicePath"][5:-2] for entry in json.loads(said(healthy, "nvme list -o json"))["Devices"]}
    for name in names:
        document = json.loads(said(healthy, f"smartctl -j /dev/{name}"))
        assert read(healthy, f"/sys/class/nvme/{name}/serial").strip() == document["serial_number"]
        assert int(read(healthy, f"/sys/block/{name}n1/size")) * 512 == document["user_capacity"]["bytes"]
        assert any(line.endswith(f"nvme {name}: pci function {read(healthy, f'/sys/class/nvme/{name}/address').strip()}")
                   for line in healthy.kmsg)


def test_mounts_agree_with_fstab_and_statvfs(healthy):
    mounted = [line.split()[1] for line in read(healthy, "/proc/mounts").splitlines()]
    wanted = [line.split()[1] for line in healthy.files["/etc/fstab"].splitlines()]
    assert {filesystem.mount for filesystem in healthy.profile.filesystems} <= set(wanted) <= set(mounted)
    assert set(mounted) == set(healthy.statvfs)
    assert mounted == [line.split()[2] for line in said(healthy, "mount").splitlines()]
    for filesystem in healthy.profile.filesystems:
        numbers = healthy.statvfs[filesystem.mount]
        assert 100 * numbers["f_bavail"] / numbers["f_blocks"] in filesystem.free_percent


def test_the_kernel_log_is_in_order_and_older_than_now(healthy):
    times = [float(re.match(r"\[ *(\d+\.\d{6})\] \S", line)[1]) for line in healthy.kmsg]
    assert times == sorted(times)
    assert times[-1] < healthy.files["/proc/uptime"]["n"]["start"]
    assert int(re.search(r"^btime (\d+)$", healthy.files["/proc/stat"], re.MULTILINE)[1]) == NOW - healthy.files["/proc/uptime"]["n"]["start"]


def test_commands_are_told_apart_by_their_words(healthy):
    assert len({command_name(name) for name in healthy.commands}) == len(healthy.commands)


def test_services_listen_where_proc_says(healthy):
    ports = {int(line.split()[1].partition(":")[2], 16) for line in read(healthy, "/proc/net/tcp").splitlines()[1:]}
    assert ports == set(map(int, re.findall(r"(?:0\.0\.0\.0|127\.0\.0\.53%lo):(\d+)", said(healthy, "ss"))))


def test_the_diagnostic_tests_hardware_from_its_second_level_on(with_gpus):
    told = {level: dcgm.judge(dcgm.parse(said(with_gpus, f"dcgmi diag -r {level} -j"))) for level in (1, 2, 3)}
    assert {slot.index for slot in with_gpus.gpus} == set(told[2]) == set(told[3])
    assert {"error"} == {each.outcome for each in told[1].values()} and {"passed"} == {each.outcome for level in (2, 3) for each in told[level].values()}


def test_a_cpu_host_has_no_trace_of_a_gpu():
    host = built("cpu-host")
    assert host.gpus == []
    assert [(rule.call, rule.ret) for rule in host.nvml] == [("nvmlInitWithFlags", "DRIVER_NOT_LOADED")]
    assert not [path for path in host.files if "nvidia" in path]
    assert not [name for name in host.commands if name.startswith(("nvidia", "nv-", "dcgmi"))]


def test_the_description_names_every_device(healthy):
    text = describe(healthy.profile)
    assert [] == [slot.bus_id for slot in healthy.gpus if slot.bus_id not in text]
    named = [*listed(healthy, "/sys/class/nvme"), *listed(healthy, "/sys/class/infiniband"), *listed(healthy, "/sys/class/net")]
    assert [] == [name for name in named if f"`{name}`" not in text and name != "lo"]
