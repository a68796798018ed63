"""What a description injects is seen on the node: by Python over ssh, through pynvml, open, os.statvfs and programs."""

import json

NODES = "n[01-14]"
DESCRIBED = """
n01: {faults: [gpu-lost]}
n02:
  nvml:
    - call: nvmlDeviceGetTotalEccErrors
      gpu: 2
      args: {errorType: 1, counterType: 0}
      value: {start: 7, per_second: 100000}
    - {call: nvmlDeviceGetFieldValues, gpu: 2, args: {field: 165, scope: 4}, value: 0}
    - {call: nvmlDeviceGetFieldValues, gpu: 2, args: {field: 164}, return: NOT_SUPPORTED}
    - {call: nvmlDeviceGetMarginTemperature, absent: true}
    - {call: nvmlDeviceGetTemperature, gpu: 5, hang: true}
    - {call: nvmlDeviceGetHandleByIndex_v2, gpu: 6, return: 999}
    - {call: nvmlDeviceGetName, value: first}
    - {call: nvmlDeviceGetName, gpu: 1, value: later entries win}
n03: {nvml: [{gpu: 5, missing: true}]}
n04:
  files:
    /proc/meminfo: "MemTotal: 5 kB\\n"
    /etc/new/place: {start: 41.5, per_second: 0}
    /var/log/counter: {text: "TOTAL {n} {of}\\n", n: {start: 100, per_second: 100000}, of: {start: -5, per_second: -1}}
    /proc/cpuinfo: null
    /proc/version: {errno: EINVAL}
    /proc/loadavg: {errno: EACCES}
    /etc/linked: {link: new/place}
    /etc/above: {link: /etc/new/place}
    /sys/class/net/eth0/operstate: "down\\n"
    /sys/class/net/eth0/mtu: 1280
    /sys/class/infiniband/mlx5_3: null
n05:
  statvfs:
    /: {f_bavail: 0, f_files: {start: 5, per_second: 0}}
    /gone: {errno: ESTALE}
    /stuck: {hang: true}
n06:
  commands:
    smartctl: {stdout: "the rest\\n"}
    smartctl -j /dev/nvme3: {stdout: "words\\n", exit: 4}
    "smartctl '-j' /dev/nvme3 -a": {stdout: "most words\\n", stderr: "and so on\\n"}
    grows: {stdout: {text: "{n} ok\\n", n: {start: 3, per_second: 0}}}
    hostname: null
    stuck: {stdout: "half", hang: true}
n07:
  kmsg:
    - "[   12.500000] second since boot"
    - "<3>NVRM: Xid (PCI:0000:61:00): 48, first\\nof two lines, \\\\ and é"
    - "NVRM: Xid (PCI:0000:61:00): 13, second"
  previous_boot: ["[ 5.000001] before", "Kernel panic - not syncing"]
n08: {busy: "4711"}
n09: {unreachable: refused}
n10: {unreachable: silent}
n11: {faults: [library-missing], commands: {python3: null}}
n12: {faults: [library-missing]}
n[13-14]: {kmsg: [both], files: {/etc/who: first}, commands: {tool: {stdout: first}}}
n14: {kmsg: [second], files: {/etc/who: second}, commands: {tool: {stdout: second}}}
"""


def test_a_lost_gpu_fails_every_call_and_leaves_its_neighbours_alone(fleet):
    lost, held, fine, log = fleet.ask(
        "n01",
        """
        nvml.nvmlInit()
        at = nvml.nvmlDeviceGetHandleByIndex
        tell(failure(at, 3), failure(nvml.nvmlDeviceGetP2PStatus, at(2), at(4), 0), nvml.nvmlDeviceGetName(at(4)), read("/dev/kmsg"))
    """,
    )
    assert "NVMLError_GpuIsLost" == lost
    assert 0 == held
    assert "NVIDIA H100 80GB HBM3" == fine
    assert "NVRM: Xid (PCI:0000:61:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n" in log


def test_an_nvml_value_is_for_its_gpu_and_arguments_and_grows(fleet):
    first, other, unnamed = fleet.ask(
        "n02",
        """
        nvml.nvmlInit()
        handle, neighbour = map(nvml.nvmlDeviceGetHandleByIndex, (2, 1))
        first = nvml.nvmlDeviceGetTotalEccErrors(handle, 1, 0)
        while nvml.nvmlDeviceGetTotalEccErrors(handle, 1, 0) == first:
            continue
        tell(first, nvml.nvmlDeviceGetTotalEccErrors(neighbour, 1, 0), nvml.nvmlDeviceGetTotalEccErrors(handle, 1, 1))
    """,
    )
    assert first >= 7
    assert [0, 0] == [other, unnamed]


def test_a_field_has_its_own_value_or_return_per_scope(fleet):
    told = fleet.ask(
        "n02",
        """
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByIndex(2)
        fields = nvml.nvmlDeviceGetFieldValues(handle, [(165, 4), (165, 5), 164])
        tell([[field.nvmlReturn, field.value.uiVal] for field in fields])
    """,
    )
    assert [[0, 0], [0, 1]] == told[:2]
    assert 3 == told[2][0]


def test_nvml_calls_are_absent_fail_by_number_and_later_entries_win(fleet):
    told = fleet.ask(
        "n02",
        """
        nvml.nvmlInit()
        at = nvml.nvmlDeviceGetHandleByIndex
        tell(failure(nvml.nvmlDeviceGetMarginTemperature, at(0)), failure(at, 6), nvml.nvmlDeviceGetName(at(0)), nvml.nvmlDeviceGetName(at(1)))
    """,
    )
    assert ["NVMLError_FunctionNotFound", "NVMLError_Unknown", "first", "later entries win"] == told


def test_an_nvml_call_hangs_until_it_is_killed(fleet):
    code = "nvml.nvmlInit(); nvml.nvmlDeviceGetTemperature(nvml.nvmlDeviceGetHandleByIndex(%d), 0)"
    told = fleet.ask(
        "n02",
        f"""
        def ends(gpu):
            child = subprocess.Popen([sys.executable, "-c", "import sys; sys.path.insert(0, sys.argv[1]); import pynvml as nvml; " + {code!r} % gpu, sys.path[0]])
            try:
                return child.wait(1.5) == 0
            except subprocess.TimeoutExpired:
                child.kill()
                return False
        tell(ends(4), ends(5))
    """,
    )
    assert [True, False] == told


def test_a_missing_gpu_is_gone_from_nvml_pci_and_the_driver(fleet):
    count, shifted, indices, pci, driver, device, links = fleet.ask(
        "n03",
        """
        nvml.nvmlInit()
        handle = nvml.nvmlDeviceGetHandleByIndex(5)
        listed = os.listdir(ROOT + "/sys/bus/pci/devices")
        broken = [name for name in listed if not os.path.exists(ROOT + "/sys/bus/pci/devices/" + name)]
        tell(nvml.nvmlDeviceGetCount(), nvml.nvmlDeviceGetPciInfo(handle).busId, nvml.nvmlDeviceGetIndex(handle),
             "0000:c3:00.0" in listed, sorted(os.listdir(ROOT + "/proc/driver/nvidia/gpus")), os.path.exists(ROOT + "/dev/nvidia5"), broken)
    """,
    )
    assert 7 == count
    assert "00000000:D1:00.0" == shifted
    assert 5 == indices
    assert not pci
    assert "0000:c3:00.0" not in driver
    assert 7 == len(driver)
    assert not device
    assert [] == links


def test_files_hold_text_numbers_links_and_errors(fleet):
    told = fleet.ask(
        "n04",
        """
        tell(read("/proc/meminfo"), read("/etc/new/place"), read("/etc/linked"), read("/etc/above"), failure(read, "/proc/cpuinfo"),
             failure(read, "/proc/version"), failure(read, "/proc/loadavg"), read("/sys/class/net/eth0/mtu"))
    """,
    )
    assert ["MemTotal: 5 kB\n", "41\n", "41\n", "41\n"] == told[:4]
    assert [
        "FileNotFoundError No such file or directory",
        "OSError Invalid argument",
        "PermissionError Permission denied",
        "1280\n",
    ] == told[4:]


def test_numbers_in_a_file_grow_and_never_fall_below_zero(fleet):
    first, later = fleet.ask(
        "n04",
        """
        first = later = read("/var/log/counter")
        while later == first:
            later = read("/var/log/counter")
        tell(first, later)
    """,
    )
    assert first.startswith("TOTAL ") and first.endswith(" 0\n")
    assert int(later.split()[1]) > int(first.split()[1]) >= 100


def test_an_override_through_a_link_is_seen_under_both_names(fleet):
    by_class, by_device = fleet.ask(
        "n04",
        """
        device = os.path.realpath(ROOT + "/sys/class/net/eth0")
        tell(read("/sys/class/net/eth0/operstate"), open(device + "/operstate").read())
    """,
    )
    assert ["down\n", "down\n"] == [by_class, by_device]


def test_no_folder_leaves_neither_its_content_nor_links_into_it(fleet):
    listed, dangling = fleet.ask(
        "n04",
        """
        dangling = [folder + "/" + name for folder, folders, files in os.walk(ROOT + "/sys") for name in folders + files
                    if not os.path.exists(folder + "/" + name)]
        tell(sorted(os.listdir(ROOT + "/sys/class/infiniband")), dangling)
    """,
    )
    assert "mlx5_3" not in listed
    assert "mlx5_4" in listed
    assert [] == dangling


def test_statvfs_tells_the_values_given_over_those_of_the_base_machine(fleet):
    full, files, blocks, stale, ends = fleet.ask(
        "n05",
        """
        root = os.statvfs(ROOT + "/")
        child = subprocess.Popen([sys.executable, "-c", "import os, sys; os.statvfs(sys.argv[1])", ROOT + "/stuck"])
        try:
            ends = child.wait(1) == 0
        except subprocess.TimeoutExpired:
            child.kill()
            ends = False
        tell(root.f_bavail, root.f_files, root.f_blocks > 0, failure(os.statvfs, ROOT + "/gone"), ends)
    """,
    )
    assert [0, 5, True] == [full, files, blocks]
    assert "OSError Stale file handle" == stale
    assert not ends


def test_the_command_with_most_words_answers_and_a_bare_name_the_rest(fleet):
    told = fleet.ssh(
        "n06", "smartctl -x; smartctl /dev/nvme3 --all -j; echo $?; smartctl -a -j /dev/nvme3; grows; hostname; echo $?"
    )
    assert ["the rest", "words", "4", "most words", "3 ok", "127"] == told.stdout.decode().split("\n")[:-1]
    assert b"and so on\n" in told.stderr


def test_a_hanging_command_has_written_what_it_says(fleet):
    told = fleet.ask(
        "n06",
        """
        child = subprocess.Popen(["stuck"], stdout=subprocess.PIPE)
        said = child.stdout.read(4)
        running = child.poll() is None
        child.kill()
        tell(said.decode(), running)
    """,
    )
    assert ["half", True] == told


def test_kernel_lines_are_records_in_the_order_of_their_times(fleet):
    log, uptime = fleet.ask("n07", 'tell(read("/dev/kmsg"), read("/proc/uptime"))')
    records = [line.partition(";") for line in log.splitlines()]
    texts = [text for _, _, text in records]
    numbers = [[int(part) for part in head.split(",")[:3]] for head, _, _ in records]
    times = [number[2] for number in numbers]
    assert times == sorted(times)
    assert list(range(len(records))) == [number[1] for number in numbers]
    assert 12_500_000 == times[texts.index("second since boot")]
    xid = texts.index(r"NVRM: Xid (PCI:0000:61:00): 48, first\x0aof two lines, \x5c and \xc3\xa9")
    assert 3 == numbers[xid][0]
    assert xid < texts.index("NVRM: Xid (PCI:0000:61:00): 13, second")
    assert 60 < float(uptime.split()[0]) - times[xid] / 1e6 < 600


def test_dmesg_and_journalctl_tell_the_same_as_the_kernel_log(fleet):
    told = fleet.ssh(
        "n07",
        "dmesg; echo ===; journalctl -k -b -1 -o json --no-pager; echo ===; journalctl --list-boots; echo ===; journalctl -k -o json",
    )
    dmesg, before, boots, now = told.stdout.decode().split("===\n")
    assert "[   12.500000] second since boot\n" in dmesg
    earlier = [json.loads(line) for line in before.splitlines()]
    assert ["before", "Kernel panic - not syncing"] == [record["MESSAGE"] for record in earlier]
    assert "5000001" == earlier[0]["__MONOTONIC_TIMESTAMP"]
    present = [json.loads(line) for line in now.splitlines()]
    assert ["-1", "0"] == [line.split()[0] for line in boots.splitlines()[1:]]
    assert earlier[0]["_BOOT_ID"] != present[0]["_BOOT_ID"]
    assert int(earlier[-1]["__REALTIME_TIMESTAMP"]) < int(present[0]["__REALTIME_TIMESTAMP"])
    assert any("first\nof two lines" in record["MESSAGE"] for record in present)


def test_a_boot_before_that_nobody_described_is_not_there(fleet):
    told = fleet.ssh("n08", "journalctl -k -b -1 -o json")
    assert (1, b"") == (told.returncode, told.stdout)
    assert b"No such boot ID" in told.stderr


def test_a_busy_node_shows_its_slurm_step(fleet):
    step, queue = fleet.ask(
        "n08",
        """
        steps = [read("/proc/%s/cmdline" % pid) for pid in os.listdir(ROOT + "/proc") if pid.isdigit()]
        tell([line for line in steps if "slurmstepd" in line], subprocess.check_output(["squeue", "-h", "-o", "%i"]).decode())
    """,
    )
    assert ["slurmstepd: [4711.batch]\0"] == step
    assert "4711\n" == queue
    assert b"" == fleet.ssh("n07", "squeue -h -o %i").stdout


def test_an_unreachable_node_refuses_or_stays_silent(fleet):
    assert b"Connection refused" in fleet.ssh("n09", "true").stderr
    assert b"banner" in fleet.ssh("n10", "true").stderr


def test_a_node_may_have_no_python_or_no_nvml(fleet):
    assert 127 == fleet.ssh("n11", "python3 -c pass").returncode
    assert "NVMLError_LibraryNotFound" == fleet.ask("n12", "tell(failure(nvml.nvmlInit))")


def test_entries_for_one_node_merge_in_order(fleet):
    log, who, tool = fleet.ask(
        "n14", 'tell(read("/dev/kmsg"), read("/etc/who"), subprocess.check_output(["tool"]).decode())'
    )
    assert ["second", "second"] == [who, tool]
    assert log.index(";both\n") < log.index(";second\n")
    assert "first" == fleet.ask("n13", 'tell(read("/etc/who"))')


def test_a_command_finds_nothing_of_this_machine(fleet):
    environment = fleet.ask("n13", "tell(dict(os.environ))")
    assert {"PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "LD_PRELOAD", "FLEETCHECK_SIM_TABLE", "FLEETCHECK_ROOT"} == set(
        environment
    ) - {"PWD", "LC_CTYPE"}
    assert environment["PATH"].startswith(environment["FLEETCHECK_ROOT"])
    assert 127 == fleet.ssh("n13", "ls").returncode


def test_sudo_runs_what_it_is_given(fleet):
    assert b"first" == fleet.ssh("n13", "sudo -n tool").stdout
    assert b"first" == fleet.ssh("n13", "sudo -n -u root -- tool").stdout
