"""Collectors of the host's side: what they make of odd, broken, foreign and missing input. Nothing may crash."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path

import hostmachine
import pytest
from hostmachine import HOST_COLLECTORS, Machine

from fleetcheck.facts import catalogue
from fleetcheck.node.collectors import (
    clock,
    cpu,
    filesystems,
    journal,
    kernel_log,
    memory,
    network,
    processes,
    rdma,
    records,
    system,
    values,
)
from fleetcheck.node.host import Host, HostTimeout


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(values, "SAMPLE_SECONDS", 0)
    monkeypatch.setattr(processes, "APART_SECONDS", 0)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def host(machine: Machine) -> Host:
    return Host(str(machine.root))


@pytest.fixture
def nothing(tmp_path_factory) -> Host:
    return Host(str(tmp_path_factory.mktemp("nothing")))


@pytest.mark.parametrize("name", HOST_COLLECTORS)
def test_every_collector_reads_this_very_machine(name):
    known = {entry[0]: entry[1] for entry in hostmachine.collectors.COLLECTORS}

    assert isinstance(json.loads(json.dumps(known[name](Host("/"), {"mounts": ["/", "/no/such/mount"]}))), dict)


@pytest.mark.parametrize("name", HOST_COLLECTORS)
def test_every_collector_answers_on_a_machine_that_tells_nothing(name, nothing):
    known = {entry[0]: entry[1] for entry in hostmachine.collectors.COLLECTORS}

    assert "absent" in json.dumps(known[name](nothing, {}))


@pytest.mark.parametrize("name", HOST_COLLECTORS)
def test_every_collector_answers_when_all_files_hold_garbage(name, machine):
    for file in machine.root.rglob("*"):
        if file.is_file() and "bin" not in file.parts:
            file.write_bytes(b"\xff\xfe\x00-1 2^64 N/A [Unknown Error] ERR!\n" * 3)
    for program in ("chronyc", "timedatectl", "ethtool", "journalctl", "uname"):
        machine.program(program, "N/A,,\u00e9 1479,0000\n{\n")

    assert isinstance(machine.answers(name)[name], dict)


@pytest.mark.parametrize("name", HOST_COLLECTORS)
def test_every_collector_answers_when_all_files_are_empty(name, machine):
    for file in machine.root.rglob("*"):
        if file.is_file() and "bin" not in file.parts:
            file.write_bytes(b"")

    assert isinstance(machine.answers(name)[name], dict)


@pytest.mark.parametrize(("text", "texts", "unreadable"), [
    ("6,0,0,-;one\n6,1,5,-;two\n", ["one", "two"], 0),
    ("6,0,0,-;one\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n", ["one"], 0),
    ("4,339,5140900,-,caller=T1;NVRM: a\\x0aNVRM: b\n", ["NVRM: a\nNVRM: b"], 0),
    ("3,1,2,c;caf\\xc3\\xa9\n", ["caf\u00e9"], 0),
    ("6,0,0,-;one\nNVRM: continued\n", ["one\nNVRM: continued"], 0),
    ("garbage\n6,0,0,-;one\n", ["one"], 1),
    ("6,0,-;short head\n", [], 1),
    ("", [], 0),
])
def test_records_of_the_kernel_device(text, texts, unreadable):
    found, lost = records.parse(text)

    assert (texts, unreadable) == ([record.text for record in found], lost)


def test_records_of_raw_dmesg():
    found, lost = records.raw_dmesg("<6>[    0.000000] Linux version\n<12>[   12.500000] from a program\nplain\n")

    assert [(6, 0.0, "Linux version"), (12, 12.5, "from a program\nplain")] == [(record.level, record.seconds, record.text) for record in found]
    assert 0 == lost


@pytest.mark.parametrize(("text", "kept", "unreadable"), [
    ('{"MESSAGE":"NVRM: x","PRIORITY":"3","SYSLOG_FACILITY":"0","_SOURCE_MONOTONIC_TIMESTAMP":"1500000"}\n', [(3, 1.5, "NVRM: x")], 0),
    ('{"MESSAGE":[78,86,255],"__MONOTONIC_TIMESTAMP":"2000000"}\n', [(6, 2.0, "NV\ufffd")], 0),
    ('{"MESSAGE":"no time"}\n', [], 1), ("{cut", [], 1), ("[]\n", [], 1), ('{"MESSAGE":null,"__MONOTONIC_TIMESTAMP":"x"}\n', [], 1), ("", [], 0),
])
def test_records_of_the_journal(text, kept, unreadable):
    found, lost = journal.parse(text)

    assert (kept, unreadable) == ([(record.level, record.seconds, record.text) for record in found], lost)


def test_only_lines_of_interest_leave_the_node_and_all_are_counted(host, machine):
    machine.kmsg("usb 1-1: new device", "NVRM: Xid (PCI:0000:3b:00): 79, lost")
    answer = kernel_log.ring(host)

    assert (4, 0) == (answer["seen"], answer["cut"])
    assert "NVRM: Xid (PCI:0000:3b:00): 79, lost" in [record["text"] for record in answer["records"]]
    assert "usb 1-1: new device" not in [record["text"] for record in answer["records"]]


SAMPLES = {
    "gpu-lost": "NVRM: GPU 0000:01:00.0: GPU has fallen off the bus.", "edac-corrected": "EDAC MC0: 1 CE error on A", "hung-task": "task a:1 blocked for more than 9 seconds",
    "soft-lockup": "soft lockup - CPU#1 stuck for 22s", "hard-lockup": "hard LOCKUP on cpu 1", "rcu-stall": "rcu: INFO: rcu_sched self-detected stall on CPU",
    "nfs-not-responding": "nfs: server a not responding", "nfs-lock-reclaim": "nfs4_reclaim_open_state: Lock reclaim failed", "raid-member-failed": "md/raid1:md0: Disk failure on sda1",
    "oom-global": "Out of memory: Killed process 1", "oom-limited": "Memory cgroup out of memory", "thermal-critical": "thermal thermal_zone0: critical temperature reached",
    "block-io-error": "I/O error, dev sda", "medium-error": "critical medium error, dev sda", "kernel-oops": "general protection fault", "kernel-panic": "Kernel panic - not syncing",
    "nic-link-down": "ice 0000:3b:00.0 eth0: NIC Link is Down", "cpu-throttled": "CPU0: Core temperature above threshold, cpu clock throttled",
    "peermem-invalid-context": "nv_get_p2p_free_callback:127 ERROR detected invalid context", "nccl-segfault": "a[1]: segfault at 0 in libnccl.so.2",
}


@pytest.mark.parametrize("code", sorted(SAMPLES))
def test_the_sieve_keeps_what_the_catalogue_knows(code):
    entries = [entry for entry in catalogue.patterns() if entry.code == code]

    assert any(entry.pattern.search(SAMPLES[code]) for entry in entries)
    assert kernel_log.INTEREST.search(SAMPLES[code])


def test_a_flood_of_one_fault_does_not_crowd_out_another(host, machine):
    machine.kmsg(*[f"pcieport 0000:00:1c.5: AER: Corrected error received: id=00{number:04x}" for number in range(3000)], "NVRM: Xid (PCI:0000:3b:00): 79, lost")
    answer = kernel_log.ring(host)

    assert 2900 == answer["repeats_left_out"]
    assert "NVRM: Xid (PCI:0000:3b:00): 79, lost" == answer["records"][-1]["text"]


def test_xids_of_one_flood_keep_their_codes_apart():
    assert kernel_log.shape("NVRM: Xid (PCI:0000:3b:00): 13, a") != kernel_log.shape("NVRM: Xid (PCI:0000:3b:00): 48, a")


def test_a_log_too_long_for_an_answer_keeps_its_end_and_says_so(monkeypatch):
    monkeypatch.setattr(kernel_log, "KEPT_BYTES", 1000)
    kept, cut = kernel_log.fitting([records.Record(3, number, 1.0, f"mlx5 {number}") for number in range(40)])

    assert ("mlx5 39", 40) == (kept[-1].text, cut + len(kept))


def test_a_forbidden_device_leaves_dmesg_to_answer(host, machine, monkeypatch):
    machine.program("dmesg", "<3>[   12.500000] NVRM: Xid (PCI:0000:3b:00): 79, lost\n")
    monkeypatch.setattr(kernel_log, "device", refused)
    answer = kernel_log.collect(host, {})

    assert ("dmesg", 12.5, True) == (answer["source"], answer["first_seconds"], "absent" in answer["first_sequence"])
    assert "journal" in answer


def refused(host: Host) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted", "/dev/kmsg")


def test_a_log_forbidden_in_every_way_says_what_to_do(host, machine, monkeypatch):
    machine.program("dmesg", "", "dmesg: read kernel buffer failed: Operation not permitted\n", 1)
    machine.program("journalctl", "", "No journal files were opened due to insufficient permissions.\n", 1)
    monkeypatch.setattr(kernel_log, "device", refused)
    said = kernel_log.collect(host, {})["records"]["absent"]

    assert "operation not permitted: /dev/kmsg" in said
    assert "insufficient permissions" in said
    assert "become: sudo -n" in said


@pytest.mark.parametrize("end", [b"", BlockingIOError(errno.EAGAIN, "again")])
def test_a_record_overwritten_while_it_was_read_is_counted(monkeypatch, end):
    said = iter([b"6,1,1,-;one\n", BrokenPipeError(errno.EPIPE, "overwritten"), b"6,9,9,-;nine\n", end])

    def read(descriptor: int, size: int) -> bytes:
        told = next(said)
        if isinstance(told, OSError):
            raise told
        return told

    monkeypatch.setattr(kernel_log.os, "read", read)

    assert (b"6,1,1,-;one\n6,9,9,-;nine\n", 1) == kernel_log.drained(-1)


def test_a_device_that_cannot_be_read_is_named_as_the_node_calls_it(host, machine):
    machine.write("/dev/kmsg", None)
    (machine.root / "dev/kmsg").mkdir()

    assert str(machine.root) not in kernel_log.ring(host)["records"]["absent"]


def test_a_wrapped_ring_buffer_is_completed_from_the_journal(host, machine):
    machine.write("/dev/kmsg", "3,9000,900000000,-;NVRM: Xid (PCI:0000:3b:00): 13, late\n")
    machine.previous_boot("NVRM: Xid (PCI:0000:3b:00): 79, early")
    answer = kernel_log.collect(host, {})

    assert "NVRM: Xid (PCI:0000:3b:00): 79, early" in [record["text"] for record in answer["journal"]["records"]]


@pytest.mark.parametrize("said", ["", "x", "0-", "-3", "0..3", "1479,0000 MHz"])
def test_a_processor_list_that_is_none_is_passed_on_as_it_is(said, host, machine):
    machine.write("/sys/devices/system/cpu/online", said)

    assert said.strip() == cpu.collect(host, {})["online"]


def test_a_clock_with_a_decimal_comma_is_no_clock(host, machine):
    machine.write("/proc/cpuinfo", "cpu MHz : 1479,0000\n")

    assert "absent" in cpu.collect(host, {})["megahertz"]


@pytest.mark.parametrize(("text", "expected"), [
    ("MemTotal:       16 kB\nHugePages_Total:  4\n", {"MemTotal": 16384, "HugePages_Total": 4}), ("MemTotal: -5 kB\n", None), ("MemTotal: 5,0 kB\n", None), ("", None),
    ("Node 0 MemTotal:       16 kB\n", {"MemTotal": 16384}),
])
def test_memory_sizes(text, expected, host, machine):
    machine.write("/proc/meminfo", text)
    found = memory.meminfo(host, "/proc/meminfo")

    assert found == expected if expected else "absent" in found


@pytest.mark.parametrize("text", ["", "garbage\n", "/dev/sda2 partition 8 0 -2\n"])
def test_swaps_without_their_head_line_are_not_measured(text, host, machine):
    machine.write("/proc/swaps", text)

    assert "absent" in memory.swaps(host)


def test_a_mount_that_hangs_costs_its_own_deadline_only(host, monkeypatch):
    def answer(self: Host, mount: str, seconds: float) -> os.statvfs_result:
        if mount == "/shared":
            raise HostTimeout(errno.ETIMEDOUT, "no answer within 5 s", mount)
        if mount == "/stale":
            raise OSError(errno.ESTALE, "Stale file handle", mount)
        return os.statvfs("/")

    monkeypatch.setattr(Host, "statvfs", answer)
    began = time.monotonic()
    room = filesystems.rooms(host, ["/", "/shared", "/stale"])

    assert ({"hung_seconds": 5.0}, errno.ESTALE) == (room["/shared"], room["/stale"]["errno"])
    assert room["/"]["total_bytes"] > 0
    assert time.monotonic() - began < filesystems.DEADLINE_SECONDS


def test_spaces_in_mount_points_are_read(host, machine):
    machine.write("/proc/mounts", "/dev/sdb1 /mnt/a\\040b ext4 rw,noatime 0 0\n")

    assert [{"source": "/dev/sdb1", "mount": "/mnt/a b", "type": "ext4", "options": ["rw", "noatime"]}] == filesystems.entries(host, "/proc/mounts")


@pytest.mark.parametrize("said", ["-1\n", "4294967295\n", "", "N/A\n"])
def test_a_speed_that_is_none_is_absent(said, host, machine):
    machine.write("/sys/class/net/eth0/speed", said)

    assert "absent" in network.interface(host, "eth0")["speed_mbits_per_second"]


def test_files_that_are_no_interfaces_are_left_out(host):
    assert {"eth0", "lo"} == set(network.collect(host, {})["interfaces"])


def test_a_driver_without_counters_of_its_own_has_none(host, machine):
    machine.program("ethtool", "", "no stats available\n", 94)

    assert {} == network.driver_counters(host, "eth0")


@pytest.mark.parametrize(("said", "expected"), [("4: ACTIVE", "ACTIVE"), ("5: LinkUp", "LinkUp"), ("ACTIVE", None), ("", None), ("4:", None)])
def test_port_states(said, expected):
    assert rdma.word(said) == expected if expected else "absent" in rdma.word(said)


@pytest.mark.parametrize(("said", "expected"), [("400 Gb/sec (4X NDR)", 400.0), ("2.5 Gb/sec (1X SDR)", 2.5), ("400,5 Gb/sec", None), ("Gb/sec", None), ("", None)])
def test_port_rates(said, expected):
    assert rdma.rate(said) == expected if expected else "absent" in rdma.rate(said)


def test_an_unreadable_counter_costs_no_other(host, machine):
    machine.write("/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "N/A\n")
    first = rdma.collect(host, {})["counters"]["first"]["mlx5_0/1"]["counters"]

    assert ("absent" in first["symbol_error"], 300) == (True, first["port_rcv_errors"])


@pytest.mark.parametrize(("stat", "name", "state"), [
    ("77 (a) b (c) D 1 1 1 0 -1 4194560 1 0 0 0 1 1 0 0 20 0 1 0 1000 1 1\n", "a) b (c", "D"), ("7 (x) S 0 0 0 0 -1 0 1 0 0 0 1 1 0 0 20 0 1 0 5 1\n", "x", "S"),
])
def test_process_names_may_hold_anything(stat, name, state):
    assert (name, state) == (processes.parse(stat).name, processes.parse(stat).state)


@pytest.mark.parametrize("stat", ["", "77", "77 (x) S", "x (y) S 1 1 1 0 -1 z 1 0 0 0 1 1 0 0 20 0 1 0 5\n"])
def test_a_process_that_cannot_be_read_is_left_out(stat, host, machine):
    machine.write("/proc/77/stat", stat)

    assert 1 == processes.collect(host)["count"]


def test_jobs_are_known_by_their_step_daemons_and_control_groups(host, machine):
    machine.write("/proc/80/stat", hostmachine.stat(80, "slurmstepd", "S"))
    machine.write("/proc/80/cmdline", "slurmstepd: [4711.batch]\0")
    machine.write("/proc/81/stat", hostmachine.stat(81, "python", "R"))
    machine.write("/proc/81/cgroup", "0::/system.slice/slurmstepd.scope/job_4712/step_0/user/task_0\n")
    machine.write("/proc/81/cmdline", "python\0--password=secret\0")
    answer = system.collect(host, {})

    assert ["slurm 4711", "slurm 4712"] == answer["busy"]
    assert "secret" not in json.dumps(answer)


def test_processes_that_switch_between_two_looks_are_not_stuck(host, machine, monkeypatch):
    machine.write("/proc/77/stat", hostmachine.stat(77, "tar", "D"))
    counts = iter([["5"], ["6"]])
    monkeypatch.setattr(processes, "switches", lambda host, pid: next(counts))

    assert [] == processes.collect(host)["stuck"]


def test_kernel_threads_are_never_stuck(host, machine):
    machine.write("/proc/77/stat", hostmachine.stat(77, "nv_queue", "D", flags=0x00200040))

    assert [] == processes.collect(host)["stuck"]


def test_only_names_of_variables_leave_the_node(host, machine):
    machine.write("/etc/environment", 'export CUDA_VISIBLE_DEVICES="0,1"\n# NCCL_DEBUG=INFO\nSECRET=1\nNCCL_SOCKET_IFNAME=eth0\n')

    assert ["CUDA_VISIBLE_DEVICES", "NCCL_SOCKET_IFNAME"] == system.environment_names(host)


@pytest.mark.parametrize(("text", "expected"), [
    ('PRETTY_NAME="Ubuntu 22.04.5 LTS"\n', "Ubuntu 22.04.5 LTS"), ("PRETTY_NAME='Debian 12'\n", "Debian 12"), ("NAME=x\nPRETTY_NAME=Alpine\n", "Alpine"), ("NAME=x\n", None),
])
def test_the_systems_name(text, expected, host, machine):
    machine.write("/etc/os-release", text)

    assert system.os_image(host) == expected if expected else "absent" in system.os_image(host)


def test_a_machine_without_a_readable_serial_says_why(nothing):
    assert "product_serial" in system.serial(nothing)["absent"]


def test_missing_clock_programs_are_named(nothing):
    answer = clock.collect(nothing, {})

    assert ("program not found: chronyc", "program not found: timedatectl") == (answer["chrony_tracking"]["absent"], answer["timedatectl"]["absent"])
