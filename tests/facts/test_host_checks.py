"""Every host check, from a machine's files through its collector and view to the check's outcome."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Iterator
from typing import Any

import checking
import hostmachine
import pytest
from hostmachine import Machine, bound, profile, stat
from tracked import tracked

from fleetcheck.facts.registry import FACTS
from fleetcheck.inventory import Node
from fleetcheck.node.collectors import processes, values

FILES = ("kernel_log", "cpu_memory", "storage", "network", "rdma", "os", "time")
NODE = Node("sim-01", "192.0.2.1", "small")
HCA = "/sys/class/infiniband/mlx5_0"
PORT = HCA + "/ports/1"
NET = "/sys/class/net/eth0"
CPU = "/sys/devices/system/cpu"


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    """Two samples at once: nothing grows in a folder."""
    monkeypatch.setattr(values, "SAMPLE_SECONDS", 0)
    monkeypatch.setattr(processes, "APART_SECONDS", 0)


@pytest.fixture(scope="module")
def bench() -> checking.Bench:
    modules = tuple(checking.module(f"checks/node/test_{name}.py") for name in FILES)
    return checking.Bench(modules, checking.module("checks/node/conftest.py"), NODE, profile())


@pytest.fixture(scope="module")
def healthy(tmp_path_factory) -> Iterator[dict[str, Any]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(values, "SAMPLE_SECONDS", 0)
        yield Machine(tmp_path_factory.mktemp("healthy")).answers()


@pytest.fixture
def machine(tmp_path) -> Machine:
    return Machine(tmp_path)


def test_a_healthy_machine_passes_every_check(bench, healthy):
    ended = {name: bench.run(name, healthy) for name in bench.names()}

    assert {} == {name: (each.outcome, each.message) for name, each in ended.items() if each.outcome != "passed"}


def wrote(path: str, text: str | None) -> Callable[[Machine], None]:
    return lambda machine: machine.write(path, text)


def logged(*lines: str) -> Callable[[Machine], None]:
    return lambda machine: machine.kmsg(*lines)


def printed(name: str, stdout: str = "", stderr: str = "", status: int = 0) -> Callable[[Machine], None]:
    return lambda machine: machine.program(name, stdout, stderr, status)


def stuck(machine: Machine) -> None:
    machine.write("/proc/77/stat", stat(77, "tar (x) y", "D"))
    machine.write("/proc/77/status", "voluntary_ctxt_switches:\t5\n")


def read_only(machine: Machine) -> None:
    machine.write("/proc/mounts", "/dev/md0 / ext4 ro,relatime 0 0\nserver:/e /shared nfs4 rw 0 0\n")


def other_mount(mounted: str, wanted: str) -> Callable[[Machine], None]:
    def write(machine: Machine) -> None:
        machine.write("/proc/mounts", f"/dev/md0 / ext4 rw 0 0\nserver:/e /shared nfs4 rw 0 0\n{mounted}\n")
        machine.write("/etc/fstab", f"/dev/md0 / ext4 defaults 0 1\n{wanted}\n")
        machine.write(f"{mounted.split()[1]}/.keep", "")

    return write


def ntpd(milliseconds: str) -> Callable[[Machine], None]:
    def write(machine: Machine) -> None:
        machine.without_program("chronyc")
        machine.program("timedatectl", "NTPSynchronized=yes\n")
        machine.program("ntpq", f"*10.0.0.1  .GPS.  1 u  33  64  377  0.213  {milliseconds}  0.030\n")

    return write


SERVO = "[17.1] CLOCK_REALTIME phc offset %d %s freq +12 delay 500\n"


def linuxptp(state: str, nanoseconds: int, grandmaster: str) -> Callable[[Machine], None]:
    """A clock kept by PTP alone; as pmc prints it, to whatever question."""
    def write(machine: Machine) -> None:
        machine.without_program("chronyc")
        machine.program("pmc", "sending: GET TIME_STATUS_NP\n\t7cfe90.fffe.f65b30-0 seq 0 RESPONSE MANAGEMENT TIME_STATUS_NP\n"
                        f"\t\tportState   {state}\n\t\tmaster_offset   {nanoseconds}\n\t\tgmPresent   {grandmaster}\n\t\tgmIdentity   00a069.fffe.0b552d\n")

    return write


def crash_dump(machine: Machine) -> None:
    machine.write("/sys/fs/pstore/dmesg-efi_pstore-1", "Panic#1\n")


FAULTS = [
    ("a thread is offline", wrote(f"{CPU}/cpu3/online", "0\n"), "test_all_threads_are_online", "layout.threads 7"),
    ("half the processors are off", wrote(f"{CPU}/online", "0-3\n"), "test_no_thread_is_offline", ""),
    ("a socket is gone", lambda m: [m.write(f"{CPU}/cpu{n}/topology/physical_package_id", "0\n") for n in range(8)], "test_all_sockets_are_there", ""),
    ("SMT siblings are gone", lambda m: [m.write(f"{CPU}/cpu{n}/topology/thread_siblings_list", "0-7\n") for n in range(8)], "test_all_cores_are_there", ""),
    ("one NUMA node", wrote("/sys/devices/system/node/node1", None), "test_numa_layout_is_as_configured", ""),
    ("a powersave governor", wrote(f"{CPU}/cpu5/cpufreq/scaling_governor", "powersave\n"), "test_governor_is_as_configured", "powersave"),
    ("clocks stuck low", wrote("/proc/cpuinfo", "processor: 0\ncpu MHz\t\t: 800.000\n"), "test_clock_is_not_stuck_low", ""),
    ("a lowered highest clock", lambda m: [m.write(f"{CPU}/cpu{n}/cpufreq/cpuinfo_max_freq", "5200000\n") for n in range(8)], "test_clock_is_not_stuck_low", "clock_share 0.38 (limit ≥ 0.4"),
    ("a DIMM is missing", wrote("/proc/meminfo", "MemTotal:  31000000 kB\n"), "test_memory_is_all_there", ""),
    ("an uncorrected error", wrote("/sys/devices/system/edac/mc/mc0/dimm0/dimm_ue_count", "1\n"), "test_memory_has_no_uncorrected_errors", "DIMM P1-DIMMA1"),
    ("an uncorrected error of no DIMM", wrote("/sys/devices/system/edac/mc/mc0/ue_count", "2\n"), "test_memory_has_no_uncorrected_errors", "memory controller mc0"),
    ("poisoned memory", wrote("/proc/meminfo", "MemTotal:  66000000 kB\nHardwareCorrupted:  8 kB\n"), "test_no_memory_page_is_poisoned", "8192 bytes"),
    ("fragmented memory", wrote("/proc/buddyinfo", "Node 0, zone   Normal  900 800 700 60 50 40 30 20 1 0 0\n"), "test_memory_is_not_fragmented", ""),
    ("huge pages on nearly all memory", wrote("/proc/meminfo", "MemTotal: 63000000 kB\nHugePages_Total: 28000\nHugepagesize: 2048 kB\n"),
     "test_huge_pages_leave_memory_for_jobs", "memory.huge_pages_share 0.91"),
    ("huge pages of two sizes", wrote("/proc/meminfo", "MemTotal: 63000000 kB\nHugePages_Total: 0\nHugepagesize: 2048 kB\nHugetlb: 50331648 kB\n"),
     "test_huge_pages_leave_memory_for_jobs", "memory.huge_pages_share 0.79"),
    ("swap on a disk", wrote("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 8000 0 -2\n"), "test_swap_is_off", ""),
    ("a mount is missing", wrote("/proc/mounts", "/dev/md0 / ext4 rw 0 0\n"), "test_mounts_are_mounted", "/shared"),
    ("a line of fstab is not mounted", wrote("/etc/fstab", "UUID=3 /data xfs defaults 0 0\n"), "test_fstab_is_mounted", "/data"),
    ("a local folder for the shared one", wrote("/proc/mounts", "/dev/md0 / ext4 rw 0 0\n/dev/md0 /shared ext4 rw 0 0\n"), "test_mounts_are_of_the_right_type", "/shared"),
    ("a data drive is read-only", other_mount("/dev/md1 /data xfs ro 0 0", "/dev/md1 /data xfs defaults 0 0"), "test_mounts_are_writable", "/data: read_only True"),
    ("root is read-only", read_only, "test_mounts_are_writable", "/: read_only True"),
    ("no carrier", wrote(f"{NET}/carrier", "0\n"), "test_links_are_up", "eth0: operstate up, no carrier"),
    ("operstate down", wrote(f"{NET}/operstate", "down\n"), "test_links_are_up", "eth0: operstate down"),
    ("no such interface", wrote(NET, None), "test_links_are_up", "eth0: operstate not present"),
    ("a bond lost a member", wrote("/proc/net/bonding/bond0", hostmachine.BOND.replace("up", "down")), "test_bonds_have_all_their_members", "eth0 of bond0: MII status down"),
    ("a slow link", wrote(f"{NET}/speed", "1000\n"), "test_links_have_their_speed", "speed_mbits_per_second 1000 (limit ≥ 25000)"),
    ("half duplex", wrote(f"{NET}/duplex", "half\n"), "test_links_are_full_duplex", "duplex half"),
    ("a small MTU", wrote(f"{NET}/mtu", "1500\n"), "test_links_have_their_mtu", "mtu_bytes 1500"),
    ("a port is down", wrote(f"{PORT}/state", "1: DOWN\n"), "test_ports_are_active", "mlx5_0: state DOWN, LinkUp"),
    ("a port has no subnet manager", wrote(f"{PORT}/state", "2: INIT\n"), "test_ports_are_active", "no subnet manager"),
    ("a device is gone", wrote(HCA, None), "test_ports_are_active", "mlx5_0: state not present"),
    ("no device at all", wrote("/sys/class/infiniband", None), "test_ports_are_active", "load the driver"),
    ("half the rate", wrote(f"{PORT}/rate", "200 Gb/sec (4X HDR)\n"), "test_ports_have_their_rate", "rate_gbits_per_second 200.0 (limit 400)"),
    ("Ethernet instead", wrote(f"{PORT}/link_layer", "Ethernet\n"), "test_ports_have_their_link_layer", "link_layer Ethernet"),
    ("an office network's MTU on the fabric", wrote(f"{HCA}/device/net/ib0/mtu", "1500\n"), "test_fabric_interfaces_have_large_packets",
     "mlx5_0: device.mtu_bytes 1500 (limit ≥ 2044 bytes)"),
    ("other firmware", wrote(f"{HCA}/fw_ver", "28.36.1010\n"), "test_devices_run_the_same_firmware", ""),
    ("just booted", wrote("/proc/uptime", "60.0 1.0\n"), "test_node_has_been_up_for_a_while", ""),
    ("another kernel", wrote("/proc/sys/kernel/osrelease", "5.4.0-1-generic\n"), "test_kernel_is_released", ""),
    ("another system", wrote("/etc/os-release", "PRETTY_NAME='Debian 12'\n"), "test_os_image_is_released", ""),
    ("another architecture", printed("uname", "aarch64\n"), "test_architecture_is_the_profiles", "aarch64"),
    ("a stuck process", stuck, "test_no_process_is_stuck", "process 77 (tar (x) y): age_seconds"),
    ("a zombie", wrote("/proc/78/stat", stat(78, "sh", "Z")), "test_no_zombies_linger", "process 78 (sh)"),
    ("no file handles left", wrote("/proc/sys/fs/file-nr", "900 0 1000\n"), "test_file_handles_are_left", ""),
    ("nouveau", wrote("/proc/modules", "nouveau 1 0 - Live 0x0\n"), "test_nouveau_is_not_loaded", ""),
    ("no peermem", wrote("/proc/modules", "mlx5_core 1 0 - Live 0x0\n"), "test_required_modules_are_loaded", "nvidia_peermem"),
    ("GPUs hidden at login", wrote("/etc/environment", "CUDA_VISIBLE_DEVICES=0\n"), "test_login_environment_hides_no_gpus", "CUDA_VISIBLE_DEVICES"),
    ("no time source", printed("chronyc", hostmachine.TRACKING.replace("Normal", "Not synchronised")), "test_clock_follows_a_source", "Not synchronised"),
    ("its own clock", printed("chronyc", hostmachine.TRACKING.replace("0A14FF0A (10.20.255.10)", "7F7F0101 ()")), "test_clock_follows_a_source", "its own clock"),
    ("systemd alone, not synchronised", lambda m: [m.without_program("chronyc"), m.program("timedatectl", "NTPSynchronized=no\n")], "test_clock_follows_a_source", "NTPSynchronized=no"),
    ("no source selected", printed("chronyc", hostmachine.TRACKING.replace("^*", "^?")), "test_clock_follows_a_source", "none of its 1 sources"),
    ("a source last heard a day ago", printed("chronyc", hostmachine.TRACKING.replace("377    37", "  0   22h")), "test_clock_follows_a_source",
     "10.20.255.10 was last heard 22.0 hours ago"),
    ("an old reference and no list of sources", printed("chronyc", hostmachine.TRACKING.partition("^")[0]), "test_clock_follows_a_source", "was last heard"),
    ("PTP without a grandmaster", linuxptp("LISTENING", 0, "false"), "test_clock_follows_a_source", "PTP knows of no grandmaster (port LISTENING)"),
    ("a PTP port at fault", linuxptp("FAULTY", 0, "true"), "test_clock_follows_a_source", "PTP follows no grandmaster: port FAULTY"),
    ("PTP far off", linuxptp("SLAVE", 5_000_000, "true"), "test_clock_offset_is_small", "clock.offset_seconds 0.005 (limit ≥ -0.001"),
    ("nobody sets the system's clock by PTP", lambda m: [linuxptp("SLAVE", 3, "true")(m), m.program("timedatectl", "NTPSynchronized=no\n")],
     "test_clock_follows_a_source", "nobody sets the system's by it (phc2sys)"),
    ("the system's clock off the card's", lambda m: [linuxptp("SLAVE", 3, "true")(m), m.program("journalctl", SERVO % (-37_000_000_000, "s2"))],
     "test_clock_offset_is_small", "clock.offset_seconds -37"),
    ("phc2sys not locked", lambda m: [linuxptp("SLAVE", 3, "true")(m), m.program("journalctl", SERVO % (900, "s0"))],
     "test_clock_follows_a_source", "phc2sys has not locked"),
    ("a card's clock that lost PTP", lambda m: [linuxptp("FAULTY", 0, "true")(m), m.program("chronyc", hostmachine.TRACKING.replace("^* 10.20.255.10", "#* PHC0"))],
     "test_clock_follows_a_source", "port FAULTY"),
    ("ntpd half a second off", ntpd("512.0"), "test_clock_offset_is_small", "0.512"),
    ("a clock read over a bus", wrote("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"), "test_clock_is_quick_to_read", "hpet"),
    ("a clock half a second off", printed("chronyc", hostmachine.TRACKING.replace("0.000021000", "0.500000000")), "test_clock_offset_is_small", "-0.5"),
    ("a clock of another year", printed("date", "1700000000.5\n"), "test_clock_agrees_with_the_controllers", "clock.skew_seconds -"),
    ("a panic in the boot before", lambda m: m.previous_boot("Kernel panic - not syncing: Fatal exception"), "test_boot_before_did_not_end_in_a_panic", "Kernel panic"),
    ("a crash dump", crash_dump, "test_boot_before_did_not_end_in_a_panic", "crash dump dmesg-efi_pstore-1"),
    ("an Xid 79 before the reboot", lambda m: m.previous_boot("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."), "test_boot_before_saw_no_fatal_event", "xid-79"),
    ("an Xid 79", logged("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."), "test_kernel_reports_no_gpu_fault", "GPU 0000:3b:00.0: xid-79"),
    ("an unknown Xid", logged("NVRM: Xid (PCI:0000:3b:00): 999, something new"), "test_kernel_reports_no_gpu_warning", "code not in the catalogue"),
    ("an NFS server away", logged("nfs: server fs-a not responding, still trying"), "test_kernel_reports_no_file_server_lost", "server fs-a"),
]


@pytest.mark.parametrize(("broken", "check", "said"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_a_broken_machine_fails_its_check(bench, machine, broken, check, said):
    broken(machine)

    ended = bench.run(check, machine.answers(*collectors_of(bench, check)))

    assert "failed" == ended.outcome, ended
    assert said in (ended.message + " ".join(map(str, ended.offenders)))


GROWTHS = [
    ("rdma.counters.second.mlx5_1/1.counters.symbol_error", 330, "test_ports_have_few_symbol_errors", "mlx5_1: symbol_error_per_second 30.0"),
    ("rdma.counters.second.mlx5_1/1.counters.port_rcv_errors", 301, "test_ports_receive_without_errors", "mlx5_1"),
    ("rdma.counters.second.mlx5_0/1.counters.port_rcv_remote_physical_errors", 301, "test_peers_send_without_errors", "mlx5_0"),
    ("rdma.counters.second.mlx5_0/1.counters.link_error_recovery", 301, "test_links_do_not_retrain", "mlx5_0"),
    ("rdma.counters.second.mlx5_0/1.hw_counters.rnr_nak_retry_err", 6, "test_transport_does_not_retry", "mlx5_0"),
    ("rdma.counters.second.mlx5_0/1.hw_counters.out_of_buffer", 6, "test_receive_buffers_suffice", "mlx5_0"),
    ("network.counters.second.eth0.rx_crc_errors", 8, "test_links_damage_no_frames", "eth0"),
    ("network.counters.second.eth0.rx_missed_errors", 900, "test_links_drop_few_frames", "eth0"),
    ("network.driver_counters.second.eth0.rx_symbol_err_phy", 387, "test_links_have_no_physical_errors", "eth0"),
    ("memory.edac.second.mc0.dimms.dimm0.ce_count", 5, "test_memory_corrects_few_errors", "DIMM P1-DIMMA1"),
    ("cpu.throttled.second.core", 97, "test_processors_do_not_throttle", "core"),
    ("filesystems.room./.available_bytes", 1, "test_mounts_have_room", "/: room.free_percent"),
    ("filesystems.room./.inodes_available", 1, "test_mounts_have_inodes", "/: room.inodes_free_percent"),
    ("filesystems.room./shared", {"hung_seconds": 5.0}, "test_mounts_answer", "/shared: asking for its size did not end"),
    ("filesystems.room./shared", {"errno": 116, "error": "stale file handle: /shared"}, "test_mounts_answer", "stale file handle"),
    ("filesystems.room./.flags", 4097, "test_mounts_are_writable", "/"),
]


def a_second_apart(answers: dict[str, Any]) -> dict[str, Any]:
    later = copy.deepcopy(answers)
    for holder in (later["rdma"]["counters"], later["network"]["counters"], later["network"]["driver_counters"], later["memory"]["edac"], later["cpu"]["throttled"]):
        holder["elapsed_seconds"] = 1.0
    return later


@pytest.mark.parametrize(("leaf", "value", "check", "said"), GROWTHS, ids=[f"{case[0]} {case[1]}" for case in GROWTHS])
def test_a_growing_counter_fails_its_check(bench, healthy, leaf, value, check, said):
    ended = bench.run(check, checking.changed(a_second_apart(healthy), leaf, value))

    assert "failed" == ended.outcome, ended
    assert said in (ended.message + " ".join(map(str, ended.offenders)))


LOOKALIKES = [
    ("the management port is down", None),
    ("congestion", ("rdma.counters.second.mlx5_0/1.counters.port_xmit_wait", 10**9)),
    ("bits that FEC corrected", ("network.driver_counters.second.eth0.rx_corrected_bits_phy", 10**9)),
    ("frames dropped by a full queue", ("network.counters.second.eth0.rx_dropped", 10**6)),
]


@pytest.mark.parametrize("change", [case[1] for case in LOOKALIKES], ids=[case[0] for case in LOOKALIKES])
def test_a_lookalike_passes_every_check(bench, healthy, change):
    answers = a_second_apart(healthy)
    answers = checking.changed(answers, *change) if change else answers

    assert [] == [name for name in bench.names() if bench.run(name, answers).outcome != "passed"]


MEASURED_ELSEWHERE = {"test_mounts_answer", "test_mounts_have_room", "test_mounts_have_inodes"}
"""statvfs asks this machine's own file system, whatever the files of the folder say."""
FREE_TEXT = {"test_login_environment_hides_no_gpus"}
"""Any text is a login file that sets nothing."""
EMPTY_IS_AN_ANSWER = {"test_numa_layout_is_as_configured", "test_fstab_is_mounted"}
"""A NUMA node of memory alone has an empty list of processors; an fstab may be empty."""


@pytest.mark.parametrize("content", [b"", b"-1\n", b"18446744073709551616\n", b"N/A\n", b"{\n", b"\xff\xfe\x00-1 2^64 [Unknown Error] ERR!\n" * 3])
def test_nothing_passes_on_garbage(bench, machine, content):
    for file in machine.root.rglob("*"):
        if file.is_file() and "bin" not in file.parts:
            file.write_bytes(content)
    for program in ("chronyc", "timedatectl", "ethtool", "journalctl", "uname", "date"):
        machine.program(program, content.decode("utf-8", "replace").replace("\0", ""))
    answers = machine.answers()
    answers["time"].pop("asked")
    passed = {name for name in bench.names() if bench.run(name, answers).outcome == "passed"}

    assert set() == passed - MEASURED_ELSEWHERE - FREE_TEXT - (EMPTY_IS_AN_ANSWER if content == b"" else set())


def test_a_counter_at_its_ceiling_is_not_measured(bench, machine):
    machine.write(f"{PORT}/counters/symbol_error", "65535\n")

    assert "error" == bench.run("test_ports_have_few_symbol_errors", machine.answers("rdma")).outcome


def test_a_counter_that_went_backwards_is_not_measured(bench, healthy):
    answers = checking.changed(a_second_apart(healthy), "rdma.counters.second.mlx5_0/1.counters.symbol_error", 0)

    assert "error" == bench.run("test_ports_have_few_symbol_errors", answers).outcome


def test_compressed_swap_is_no_swap(bench, machine):
    machine.write("/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 8000 0 100\n")

    assert "passed" == bench.run("test_swap_is_off", machine.answers("memory")).outcome


def test_links_that_may_still_train_are_not_measured(bench, machine):
    machine.write("/proc/uptime", "60.0 1.0\n")
    machine.write(f"{PORT}/state", "2: INIT\n")
    machine.write(f"{NET}/operstate", "down\n")
    answers = machine.answers("rdma", "network")

    assert ["error", "error"] == [bench.run(name, answers).outcome for name in ("test_ports_are_active", "test_links_are_up")]


def test_an_offset_without_a_source_is_not_measured(bench, machine):
    machine.program("chronyc", hostmachine.TRACKING.replace("Normal", "Not synchronised").replace("0.000021000", "0.000000000"))

    assert "error" == bench.run("test_clock_offset_is_small", machine.answers("time")).outcome


def test_a_daemon_that_does_not_answer_leaves_the_kernels_word(bench, machine):
    machine.program("chronyc", "506 Cannot talk to daemon\n", status=1)

    assert "passed" == bench.run("test_clock_follows_a_source", machine.answers("time")).outcome


def test_a_system_clock_of_which_nobody_tells_that_it_follows_ptp_is_not_measured(bench, machine):
    linuxptp("SLAVE", 3, "true")(machine)
    machine.without_program("timedatectl")
    machine.without_program("journalctl")
    judged = bench.run("test_clock_follows_a_source", machine.answers("time"))
    assert ("error", True) == (judged.outcome, "whether the system's follows is not told" in judged.message)


KEPT = {
    "polls of an hour": lambda m: m.program("chronyc", hostmachine.TRACKING.replace("6   377    37", "12   377   409m")),
    "another source was heard": lambda m: m.program("chronyc", hostmachine.TRACKING.replace("377    37", "  0   22h") + "^+ 10.0.0.2   2   6   377   37   +1us[ +1us] +/- 2us\n"),
    "PTP": lambda m: [linuxptp("SLAVE", -3, "true")(m), m.program("journalctl", SERVO % (12, "s2"))],
    "PTP by a kernel that phc2sys does not tell": lambda m: [
        linuxptp("SLAVE", -3, "true")(m), m.program("timedatectl", "NTPSynchronized=no\n"), m.program("journalctl", SERVO % (12, "s2"))],
    "PTP for other things": lambda m: [linuxptp("LISTENING", 0, "false")(m), m.program("chronyc", hostmachine.TRACKING)],
    "an answer without PTP": lambda m: m.without_program("journalctl"),
}


@pytest.mark.parametrize("kept", KEPT.values(), ids=KEPT)
def test_a_clock_that_is_kept_passes(bench, machine, kept):
    kept(machine)
    answers = machine.answers("time")

    assert ["passed", "passed"] == [bench.run(name, answers).outcome for name in ("test_clock_follows_a_source", "test_clock_offset_is_small")]


def test_ptp_that_still_settles_is_not_measured(bench, machine):
    linuxptp("UNCALIBRATED", 900, "true")(machine)

    assert "error" == bench.run("test_clock_follows_a_source", machine.answers("time")).outcome


@pytest.mark.parametrize("pages", ["HugePages_Total: 8\nHugepagesize: 1048576 kB\n", "HugePages_Total: 12000\nHugepagesize: 2048 kB\nHugetlb: 24576000 kB\n"])
def test_huge_pages_set_aside_for_packets_are_no_trouble(bench, machine, pages):
    machine.write("/proc/meminfo", f"MemTotal: 63000000 kB\n{pages}")

    assert "passed" == bench.run("test_huge_pages_leave_memory_for_jobs", machine.answers("memory")).outcome


def test_a_clock_nobody_speaks_for_is_not_measured(bench, machine):
    machine.program("chronyc", "506 Cannot talk to daemon\n", status=1)
    machine.without_program("timedatectl")

    ended = bench.run("test_clock_follows_a_source", machine.answers("time"))

    assert ("error", True) == (ended.outcome, "506 Cannot talk to daemon" in ended.message and "program not found" in ended.message)


def test_a_profile_without_links_or_hcas_skips_their_checks(bench, healthy):
    poor = checking.Bench(bench.modules, bench.shared, NODE, profile(links=None, hcas=None))

    assert ["skipped", "skipped"] == [poor.run(name, healthy).outcome for name in ("test_links_are_up", "test_ports_are_active")]


def collectors_of(bench: checking.Bench, check: str) -> tuple[str, ...]:
    """The collectors behind a check's fixtures."""
    with pytest.MonkeyPatch.context():
        code = bench._owner(check).__dict__[check].__code__
    names = code.co_varnames[: code.co_argcount]
    known = {fact.name: fact.collector for fact in FACTS} | {"throttle_counters": "cpu", "speed": "network", "mtu": "network", "gpu_modules": "system"}
    return tuple(dict.fromkeys(known[name] for name in names if name in known))


BUILT_FOR_OTHERS: dict[str, tuple[str, ...]] = {
    "test_boot_before": ("seen", "records", "unreadable", "overwritten", "cut", "first_sequence", "first_seconds"),   # this boot's log
    "test_mounts_": ("fstab",), "test_mounts_answer": ("fstab", "mounts"), "test_mounts_have": ("fstab", "mounts"),
}
"""Leaves that a view is built from for its other checks."""
OPTIONAL = (("journal",), ("previous_boot",), ("edac", "second", "mc0", "dimms", "dimm0", "label"), ("chrony_tracking", "stderr"),
            ("machine", "bios_version"))
"""Told absent where not needed, words for messages alone, or noted for the fleet's nodes to be compared by."""


def needed(check: str, leaf: tuple[Any, ...]) -> bool:
    others = [name for prefix, names in BUILT_FOR_OTHERS.items() if check.startswith(prefix) for name in names]
    return leaf[0] not in others and not any(leaf[: len(path)] == path for path in OPTIONAL)


def test_no_check_passes_without_a_leaf_it_read(bench, healthy):
    passed_anyway = []
    for check in bench.names():
        for name in collectors_of(bench, check):
            seen: set[tuple[Any, ...]] = set()
            bench.run(check, {**healthy, name: tracked(healthy[name], (), seen)})
            for leaf in checking.leaves(healthy[name]):
                if leaf in seen and needed(check, leaf):
                    ended = bench.run(check, {**healthy, name: without(healthy[name], leaf)})
                    passed_anyway += [(check, name, leaf)] if ended.outcome == "passed" else []

    assert [] == passed_anyway


@pytest.mark.parametrize(("check", "kind"), [("test_mounts_answer", "remote"), ("test_mounts_answer", "disks"), ("test_mounts_are_writable", "disks")])
def test_other_mounts_that_were_not_told_of_are_not_measured(bench, healthy, check, kind):
    told = {name: value for name, value in healthy["filesystems"].items() if name != kind}

    assert "passed" == bench.run(check, healthy).outcome
    assert "error" == bench.run(check, {**healthy, "filesystems": told}).outcome


def without(answer: Any, leaf: tuple[Any, ...]) -> Any:
    """A copy without one leaf; an element of a list becomes unreadable."""
    copied = copy.deepcopy(answer)
    holder = copied
    for step in leaf[:-1]:
        holder = holder[step]
    if isinstance(holder, list):
        holder[leaf[-1]] = {"absent": "removed"}
    else:
        del holder[leaf[-1]]
    return copied


def test_bounds_of_a_profile_go_before_the_defaults(healthy):
    strict = checking.Bench((checking.module("checks/node/test_os.py"),), types.ModuleType("none"), NODE, profile(limits={"uptime_seconds": bound(low=10**7)}))

    assert "failed" == strict.run("test_node_has_been_up_for_a_while", healthy).outcome
