"""Kernel lines and what they amount to: every format, its traps, and what is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from fleetcheck.facts import catalogue
from fleetcheck.facts.bus_id import bus_id
from fleetcheck.facts.kernel_event import Event, Record, printable, without_prefix
from fleetcheck.facts.kernel_events import events_of, records_of
from fleetcheck.facts.xid import parse
from fleetcheck.node.collectors import kernel_log

GPU = "0000:3b:00.0"
X = "NVRM: Xid (PCI:0000:3b:00): "
LINES = yaml.safe_load(Path(__file__).with_name("kernel_lines.yaml").read_text())


def events(*lines: str, apart: float = 60.0, benign: tuple[str, ...] = ()) -> list[Event]:
    return events_of([Record(1000 + apart * number, without_prefix(line)) for number, line in enumerate(lines)], benign)


def graded(*lines: str, apart: float = 60.0) -> list[tuple[str, str, str, str]]:
    return [(event.code, event.severity, event.action, event.slot) for event in events(*lines, apart=apart)]


@pytest.mark.parametrize(("line", "code", "slot", "pid", "process"), [
    (X + "79, pid=1122, GPU has fallen off the bus.", 79, GPU, "1122", ""),
    (X + "79, GPU has fallen off the bus.", 79, GPU, "", ""),
    (X + "31, pid=7, name=ray::Worker:1, MMU Fault", 31, GPU, "7", "ray::Worker:1"),
    (X + "13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception", 13, GPU, "<unknown>", "<unknown>"),
    ("NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 13, pid=7, name=python, Graphics", 13, GPU, "7", "python"),
    ("NVRM: Xid (0000:03:00): 13, 0003 00000000 00008297 00001098", 13, "0000:03:00.0", "", ""),
    ("NVRM: Xid (0000:01:00): 16, \nHead 00000000 Count 00006e2e", 16, "0000:01:00.0", "", ""),
    ("NVRM: Xid (0000:01:00): 8, Channel 00000020", 8, "0000:01:00.0", "", ""),
    ("NVRM: Xid: 6, PE0002", 6, "", "", ""),
    ("NVRM: Xid (PCI:00000008:01:00): 149, NETIR Fatal XC0 i0 Link -1", 149, "0008:01:00.0", "", ""),
])
def test_every_format_of_an_xid_is_read(line, code, slot, pid, process):
    xid = parse(line)

    assert xid is not None
    assert (code, slot, pid, process) == (xid.code, xid.slot, xid.pid, xid.process)


@pytest.mark.parametrize("line", [
    "NVRM: Xid (PCI:0000:3b:00)", "NVRM: Xid (PCI:0000:3b:00): ", "NVRM: Xid (PCI:0000:3b:00): seventy-nine", "NVRM: Xid",
    "Xid (PCI:0000:3b:00): 79", "NVRM: GPU 0000:3b:00.0 NV_WARN_NOTHING_TO_DO", "",
])
def test_what_is_no_xid_line_is_none(line):
    assert parse(line) is None


@pytest.mark.parametrize(("line", "severity", "action"), [
    (X + "79, GPU has fallen off the bus.", "fatal", "reboot"),
    (X + "48, pid=1, DBE", "fatal", "reset-gpu"),
    (X + "63, pid=1, Row Remapper: New row marked for remapping, reset gpu to activate.", "degraded", "reset-gpu"),
    (X + "64, Row Remapper Error: all reserved rows for bank are remapped", "fatal", "reset-gpu"),
    (X + "95, pid=1, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No", "fatal", "reset-gpu"),
    (X + "94, pid=1, Contained: CE User Channel (0x9). RST: No, D-RST: No", "warn", "observe"),
    (X + "94, pid=1, Contained: CE User Channel (0x9). RST: No, D-RST: Yes", "warn", "observe"),
    (X + "94, pid=1, Contained: CE User Channel (0x9). RST: Yes, D-RST: No", "degraded", "reset-gpu"),
    (X + "119, pid=1, name=nvidia-smi, Timeout after 45s of waiting for RPC response from GPU3 GSP!", "fatal", "reset-gpu"),
    (X + "120, GSP Error: Task 1 raised error code 0x5 for reason 0x0", "fatal", "reset-gpu"),
    (X + "109, pid=1, name=python, CTX SWITCH TIMEOUT", "degraded", "reset-gpu"),
    (X + "92, pid=1, High single-bit ECC error rate", "degraded", "observe"),
    (X + "31, pid=1, name=python, MMU Fault", "warn", "observe"),
    (X + "4711, never seen", "warn", "observe"),
    (X + "74, NVLink: fatal error detected on link 3(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", "fatal", "reset-gpu"),
    (X + "74, NVLink: error on link 3(0x40800001, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", "warn", "observe"),
    (X + "74, NVLink: error on link 3(0x40800001, 0x2, 0x0, 0x0, 0x0, 0x0, 0x0)", "fatal", "reset-gpu"),
    (X + "74, NVLink: error on link 3(0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", "fatal", "reset-gpu"),
    (X + "74, NVLink: fatal error", "fatal", "reset-gpu"),
    (X + "149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x025001c6 0x00000000)", "fatal", "reset-gpu"),
    (X + "149, NETIR_LINK_EVT Nonfatal XC0 i0 Link 08 (0x004505c6)", "warn", "observe"),
    (X + "145, pid=1, name=ray::Fatal, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2)", "warn", "observe"),
    (X + "149, NETIR of a form nobody knows", "degraded", "reset-gpu"),
    (X + "154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "fatal", "reset-gpu"),
    (X + "154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "fatal", "reboot"),
    (X + "154, GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)", "degraded", "reset-gpu"),
    (X + "154, GPU recovery action changed from 0x0 (None) to 0x7 (System Reboot)", "fatal", "reboot"),
    (X + "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)", "warn", "observe"),
    (X + "154, recovery in words nobody knows", "degraded", "reset-gpu"),
    ("[gpu-health] [WARN] GPU-1: XID: " + X + "79, quoted", "warn", "observe"),
    ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "fatal", "reboot"),
    ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Non-fatal, Link 30", "warn", "observe"),
    ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12021, Fatal, single-bit ECC", "warn", "observe"),
    ("nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 24007, sourcetrack timeout", "warn", "observe"),
])
def test_text_and_catalogue_grade_an_xid(line, severity, action):
    assert [(severity, action)] == [(event.severity, event.action) for event in events(line)]


@pytest.mark.parametrize(("line", "code", "slot"), [
    ("NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\nNVRM: fallen off the bus and is not responding", "gpu-lost", "0000:b3:00.0"),
    ("NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.", "gpu-lost", "0000:01:00.0"),
    ("NVRM: GPU 0000:3b:00.0: RmInitAdapter failed! (0x22:0x38:667)", "gpu-init-failed", GPU),
    ("NVRM: rm_init_adapter failed, device minor number 3", "gpu-init-failed", ""),
    ("pcieport 0000:00:03.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer", "aer-fatal", "0000:00:03.0"),
    ("pcieport 0000:00:03.0: AER: Multiple Uncorrected (Fatal) error received: 0000:00:03.0", "aer-fatal", "0000:00:03.0"),
    ("nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Data Link Layer", "aer-nonfatal", GPU),
    ("pcieport 0000:00:1c.5: PCIe Bus Error: severity=Corrected, type=Physical Layer", "aer-corrected", "0000:00:1c.5"),
    ("watchdog: BUG: soft lockup - CPU#17 stuck for 226906s! [kworker/17:1:234]", "soft-lockup", "17"),
    ("NMI watchdog: Watchdog detected hard LOCKUP on cpu 4", "hard-lockup", "4"),
    ("INFO: task kworker/u8:3:91 blocked for more than 120 seconds.", "hung-task", "kworker/u8:3:91"),
    ("CPU4: Package temperature above threshold, cpu clock throttled (total events = 9)", "cpu-throttled", "4"),
    ("EDAC MC1: 1 UE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0 (channel:1)", "edac-uncorrected", "CPU_SrcID#0_Ha#0_Chan#1_DIMM#0"),
    ("EDAC MC0: 3 CE memory scrubbing error on mc#0csrow#2channel#0 (csrow:2)", "edac-corrected", "mc#0csrow#2channel#0"),
    ("Memory failure: 0xe16677: already hardware poisoned", "memory-poisoned", ""),
    ("nvme nvme0: I/O tag 12 (1080) opcode 0x2 (I/O Cmd) QID 4 timeout, reset controller", "nvme-reset", "nvme0"),
    ("nvme nvme0: I/O 12 QID 4 timeout, aborting", "nvme-abort", "nvme0"),
    ("blk_update_request: critical medium error, dev nvme3n1, sector 8", "medium-error", "nvme3n1"),
    ("I/O error, dev nvme3n1, sector 8 op 0x0:(READ)", "block-io-error", "nvme3n1"),
    ("md/raid1:md0: Disk failure on sda1, disabling device. detected, failing array", "raid-member-failed", "sda1"),
    ("EXT4-fs (md0): Remounting filesystem read-only", "filesystem-read-only", "md0"),
    ("EXT4-fs error (device md0): ext4_lookup:1701: inode #2: comm ls: deleted inode referenced: 14", "filesystem-error", "md0"),
    ("XFS (md1): Metadata corruption detected at xfs_agf_read_verify+0x70. Unmount and run xfs_repair", "filesystem-error", "md1"),
    ("BTRFS warning (device nvme1n1): csum failed root 5 ino 257 off 0 csum 0x8941f998 expected csum 0x7b1a3f0e mirror 1", "filesystem-checksum", "nvme1n1"),
    ("BTRFS critical (device sdb2: state EA): corrupt leaf: root=2 block=1107296256 slot=27, bad key order", "filesystem-error", "sdb2"),
    ("DMAR: [DMA Read NO_PASID] Request device [3b:00.0] fault addr 0xfe000000 [fault reason 0x06] PTE Read access", "iommu-fault", GPU),
    ("AMD-Vi: Event logged [IO_PAGE_FAULT device=3b:00.0 domain=0x0012 address=0xfe000000 flags=0x0020]", "iommu-fault", GPU),
    ("mlx5_core 0000:5c:00.0: temp_warn:256:(pid 0): High temperature on sensors with bit set 0 1", "nic-hot", "0000:5c:00.0"),
    ("nfs: server 10.0.0.27 not responding, timed out", "nfs-not-responding", "10.0.0.27"),
    ("mlx5_core 0000:5c:00.0 eth0: TX timeout detected", "nic-tx-timeout", "0000:5c:00.0"),
    ("mlx5_core 0000:5c:00.0: poll_health:800: device's health compromised - reached miss count", "nic-firmware", "0000:5c:00.0"),
    ("mlx5_core 0000:5c:00.0: print_health_info:440:(pid 0): synd 0x1: firmware internal error", "nic-firmware", "0000:5c:00.0"),
    ("mlx5_core 0000:5c:00.0: mlx5_pcie_event:299:(pid 26): Detected insufficient power on the PCIe slot (27W).", "nic-slot-power", "0000:5c:00.0"),
    ("oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),global_oom,task=python,pid=7,uid=0", "oom-global", ""),
    ("oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=/job,task=python,pid=7,uid=0", "oom-limited", ""),
    ("Out of memory: Killed process 7 (python)", "oom-global", ""),
    ("pt_main[25]: segfault at 7f79 ip 00007f7c sp 00007f error 4 in libnccl.so.2[7f7c7ac00000+d3d3000]", "nccl-segfault", ""),
    ("BUG: unable to handle page fault for address: ffffb2c0", "kernel-oops", ""),
])
def test_other_kernel_lines_are_known(line, code, slot):
    assert [(code, slot)] == [(event.code, event.slot) for event in events(line)]


@pytest.mark.parametrize("line", [
    "nfs: server 10.0.0.27 OK", "CPU0: Core temperature/speed normal", "NVRM: loading NVIDIA UNIX Open Kernel Module",
    "NVRM: GPU 0000:3b:00.0 NV_WARN_NOTHING_TO_DO", "EXT4-fs (sda1): mounted filesystem with ordered data mode",
    "Kernel command line: panic=10 oops=panic", "python[7]: segfault at 0 ip 0 sp 0 error 4 in python3.11", "CPU0: Core power limit notification",
    "I/O error, dev fd0, sector 0", "XFS (md1): Ending clean mount", "AER: enabled with IRQ 34", "EDAC MC0: Giving out device to module i10nm_edac",
    '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.', "", "mce: CPU0: Thermal monitoring enabled (TM1)",
])
def test_ordinary_lines_are_left_alone(line):
    assert [] == events(line)


def test_a_burst_is_one_event():
    burst = events(*[X + f"13, pid=7, name=python, Graphics SM Warp Exception on (GPC 9, TPC {number}, SM 1)" for number in range(17)], apart=0.0002)

    assert [("xid-13", 17)] == [(event.code, event.count) for event in burst]


def test_the_worst_line_of_a_burst_speaks():
    assert [("xid-149", "fatal", "reset-gpu", GPU)] == graded(X + "149, NETIR Nonfatal", X + "149, NETIR Fatal", apart=0.001)


def test_a_channel_error_is_judged_by_its_cause():
    assert [("xid-13", "warn", "observe", GPU)] == graded(X + "45, pid=1, Ch 00000001 caused by previous Xid 13")
    assert [("xid-149", "fatal", "reset-gpu", GPU)] == graded(X + "45, pid=1, Ch 00000001 caused by previous Xid 149")


def test_errors_on_the_other_ends_of_a_link_follow_from_its_root():
    other = "NVRM: Xid (PCI:0000:dc:00): 45, pid=2, Ch 0000000c caused by previous Xid 145"
    root, follower = graded(X + "45, pid=1, Ch 00000001 caused by previous Xid 149", other)

    assert ("fatal", "warn") == (root[1], follower[1])


def test_a_consequence_beside_its_own_cause_is_no_second_fault():
    assert ["fatal", "warn"] == [severity for _, severity, *_ in graded(X + "48, DBE", X + "45, pid=1, Ch 1 caused by previous Xid 48")]


def test_details_of_a_double_bit_error_do_not_count_again():
    assert ["fatal", "warn"] == [severity for _, severity, *_ in graded(X + "48, DBE", X + "171, uncorrectable DRAM")]
    assert ["degraded"] == [severity for _, severity, *_ in graded(X + "171, uncorrectable DRAM")]


def test_contained_errors_that_repeat_on_one_gpu_degrade_it():
    line = X + "94, pid=1, Contained: CE User Channel (0x9). RST: No, D-RST: No"

    assert ["degraded", "degraded"] == [severity for _, severity, *_ in graded(line, line)]


def test_a_recovery_settles_what_a_reset_mends_and_nothing_after_it():
    done = X + "154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
    severities = [severity for _, severity, *_ in graded(X + "95, Uncontained", done, X + "48, DBE", X + "79, lost")]

    assert ["warn", "warn", "fatal", "fatal"] == severities


def test_a_recovery_of_one_gpu_says_nothing_of_another():
    done = "NVRM: Xid (PCI:0000:dc:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"

    assert ["fatal", "warn"] == [severity for _, severity, *_ in graded(X + "95, Uncontained", done)]


def test_a_server_that_answers_again_is_a_warning_and_another_is_not():
    severities = {event.slot: event.severity for event in events("nfs: server a not responding, still trying", "nfs: server b not responding, still trying", "nfs: server a OK")}

    assert {"a": "warn", "b": "degraded"} == severities


def test_a_server_lost_again_after_it_answered_is_a_fault():
    lines = ("nfs: server a not responding, still trying", "nfs: server a OK", "nfs: server a not responding, still trying")

    assert ["warn", "degraded"] == [severity for _, severity, *_ in graded(*lines)]


def test_tasks_hung_on_a_file_server_do_not_blame_the_node():
    assert ["warn"] == [event.severity for event in events("nfs: server a not responding", "nfs: server a OK", "INFO: task cp:7 blocked for more than 120 seconds.")
                        if event.code == "hung-task"]


def test_throttling_that_ended_is_a_warning():
    lines = ("CPU0: Core temperature above threshold, cpu clock throttled (total events = 1)", "CPU0: Core temperature/speed normal")

    assert ["warn"] == [severity for _, severity, *_ in graded(*lines)]


def test_nonfatal_pcie_errors_of_the_probing_at_boot_are_a_warning():
    record = Record(14.0, "pcieport 0000:00:03.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer")

    assert ["warn"] == [event.severity for event in events_of([record])]


def test_a_line_the_profile_knows_is_a_warning():
    line = "mlx5_core 0000:5c:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at 0000:59:01.0"

    assert ["degraded"] == [event.severity for event in events(line)]
    assert ["warn"] == [event.severity for event in events(line, benign=("limited by 16.0 GT/s",))]


def test_a_sentence_split_by_a_relay_is_put_together():
    lines = ("NVRM: The NVIDIA GPU 0000:b3:00.0", "NVRM: (PCI ID: 10de:26b5) installed in this system has", "NVRM: fallen off the bus and is not responding to commands.")

    assert [("gpu-lost", "fatal", "reboot", "0000:b3:00.0")] == graded(*lines, apart=0.0)


APEI = ("{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4", "{1}[Hardware Error]: event severity: %s",
        "{1}[Hardware Error]: Error 0, type: %s", "{1}[Hardware Error]: section_type: %s", "{1}[Hardware Error]: DIMM location: CPU 1 DIMM 5")


@pytest.mark.parametrize(("severity", "section", "expected"), [
    ("corrected", "memory error", ("dram", "warn", "observe")), ("recoverable", "memory error", ("dram", "fatal", "replace")),
    ("fatal", "memory error", ("dram", "fatal", "replace")), ("recoverable", "PCIe error", ("pcie", "degraded", "reboot")),
    ("fatal", "PCIe error", ("pcie", "fatal", "isolate")), ("fatal", "processor error", ("cpu", "fatal", "isolate")),
    ("info", "memory error", ("dram", "warn", "observe")), ("fatal", "something else", ("cpu", "fatal", "isolate")),
])
def test_a_firmware_record_is_one_event_graded_by_its_severity(severity, section, expected):
    lines = [line % (severity if "severity" in line or ("type: %s" in line and "section" not in line) else section) if "%s" in line else line for line in APEI]

    assert [expected] == [(event.component, event.severity, event.action) for event in events(*lines, apart=0.0)]


@pytest.mark.parametrize(("status", "component", "severity"), [
    ("8c00004000010090", "dram", "warn"), ("bd80000000100134", "cpu", "fatal"), ("be00000000800400", "cpu", "fatal"), ("bc00000000000090", "dram", "fatal"),
])
def test_a_machine_check_is_judged_by_its_status(status, component, severity):
    line = f"mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 7: {status}"

    assert [(component, severity)] == [(event.component, event.severity) for event in events(line)]


@pytest.mark.parametrize("line", [
    "text", 7, None, {"seconds": 1.0, "text": "x"}, {"facility": 0, "text": "x"}, {"facility": 0, "seconds": "1", "text": "x"},
    {"facility": 0, "seconds": {"absent": "no"}, "text": "x"}, {"facility": 0, "seconds": 1.0}, {"facility": 0, "seconds": True, "text": "x"},
])
def test_a_record_that_is_none_is_told(line):
    records, broken = records_of([line])

    assert ([], 1) == (records, len(broken))


@pytest.mark.parametrize(("text", "expected"), [
    ("Okt 06 17:59:27 node-a kernel: " + X + "79, lost", "xid-79"), ("7月 20 16:09:11 node-d kernel: " + X + "79, lost", "xid-79"),
    ("[  +0.000844] " + X + "79, lost", "xid-79"), ("kern  :warn  : 2025-01-21T04:41:44,283302+00:00 " + X + "79, lost", "xid-79"),
    ("2019-08-19T04:18:38.274652-04:00 node-a kernel: [ 261.273226] " + X + "79, lost", "xid-79"),
])
def test_what_a_relay_put_before_a_kernel_line_is_no_obstacle(text, expected):
    assert [(expected, "fatal")] == [(event.code, event.severity) for event in events(text)]


@pytest.mark.parametrize("before", ["watcher: ", "[health] [WARN] ", "alert=1 text=", "2026-11-30T15:00:00Z stdout F "])
def test_a_line_that_a_program_quotes_stays_a_quotation(before):
    assert ["warn"] == [event.severity for event in events(before + X + "79, GPU has fallen off the bus.")]


@pytest.mark.parametrize("text", ["nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal", "[Hardware Error]: CPU 1", "{1}[Hardware Error]: event severity: fatal",
                                  "[drm] [nvidia-drm] [GPU ID 0x00001b00] Loading driver", "sd 2:0:0:0: [sdb] Sense Key", "1: not a line of grep"])
def test_what_the_kernel_itself_begins_with_is_no_prefix(text):
    assert text == without_prefix(text)


def test_what_a_program_wrote_to_the_kernel_log_is_not_the_kernels():
    records, broken = records_of([{"facility": 1, "seconds": 5.0, "text": X + "79, quoted"}])

    assert ([], []) == (records, broken)


def test_words_for_people_are_one_short_line():
    assert len(printable("x" * 900)) <= 200
    assert "a\\nb\\x1b[31m" == printable("a\nb\x1b[31m")


@pytest.mark.parametrize(("text", "expected"), [
    ("PCI:0000:3B:00", GPU), ("00000000:3B:00.0", GPU), ("3b:00.1", "0000:3b:00.1"), ("0009:01:00", "0009:01:00.0"), ("12:34:56:78:9a:bc", ""), ("", ""), ("zz:00.0", ""),
])
def test_addresses_have_one_spelling(text, expected):
    assert expected == bus_id(text)


def test_every_event_of_the_catalogue_has_its_checks():
    import checking

    source = checking.module("checks/node/test_kernel_log.py")
    marks = [next(mark for mark in check.pytestmark if mark.name == "check").kwargs for check in vars(source).values() if hasattr(check, "pytestmark")]
    told = {(mark["component"], mark["severity"] == "warn") for mark in marks}
    graded = {(entry.component, entry.severity == "warn") for entry in [*catalogue.patterns(), *catalogue.xids().codes.values()]}

    assert set() == graded - told


@pytest.mark.parametrize(("code", "line"), [(code, line) for code, lines in LINES["events"].items() for line in lines])
def test_a_line_of_any_driver_or_kernel_is_known_and_leaves_the_node(code, line):
    assert [code] == [event.code for event in events(line)]
    assert kernel_log.INTEREST.search(line)


@pytest.mark.parametrize("line", LINES["harmless"])
def test_a_line_of_a_healthy_machine_is_no_event(line):
    assert [] == events(line)


@pytest.mark.parametrize("before", [
    "[   12.345678][  T1234] ", "[Mon Nov 30 15:00:00 2026] ", "<3>[    1.0] ", "2026-11-30T15:00:00.1+01:00 n1 kernel: ",
    "2026-11-30T15:00:00,123456+00:00 ", "kern  :err   : [  123.456789] ", "kern  :err   : [Mon Nov 30 15:00:00 2026] ", "[  123.456789 <    0.000012>] ",
    "[Nov 30 15:00] ", "[Okt30 15:00] ", "[Mon Nov 30 15:00:00 2026 <    0.000012>] ", "4,1234,567890123,-;", "10.0.0.7: kern: warning: [2026-11-30T15:00:00.291660856Z]: ",
    "<4>1 2026-11-30T15:00:00.089671+00:00 n1 kernel - - - ", "/var/log/remote/east/rack12/n1.cluster.example.com/2026-11-30/kern.log:Nov 30 15:00:00 n1 kernel: ",
    "1234:[  123.456789] ", "n1: [  123.456789] ", "\x1b[32m[  123.456789] \x1b[0m\x1b[31m", "Nov 30 15:00:00 n1 kernel[1]: [  1.2] [    C12] ",
])
def test_a_line_told_with_its_caller_or_date_is_the_drivers_own(before):
    assert ["fatal"] == [event.severity for event in events(before + X + "79, GPU has fallen off the bus.")]


def test_a_lustre_server_that_answers_again_is_a_warning_and_excuses_hung_tasks():
    lost = "Lustre: s-MDT0000-mdc-ff: Connection to s-MDT0000 (at 10.0.0.3@o2ib) was lost; in progress operations will wait"
    hung = "INFO: task python:7 blocked for more than 122 seconds."
    back = "Lustre: s-MDT0000-mdc-ff: Connection restored to 10.0.0.3@o2ib (at 10.0.0.3@o2ib)"

    assert ["degraded", "warn"] == [event.severity for event in events(lost, hung)]
    assert ["warn", "warn"] == [event.severity for event in events(lost, hung, back)]
