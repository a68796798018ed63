"""The machine as collectors see it."""

from __future__ import annotations

import errno
import os
import sys

import pytest

from fleetcheck.node.host import Host, HostTimeout, OutputTooLong, ProgramMissing, ProgramTimeout, _in_child, absent


@pytest.fixture
def simulated(tmp_path):
    for folder in ("usr/bin", "etc", "sys/class/net/eth0"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/os-release").write_bytes(b"NAME=\xff\n")
    return tmp_path


def program(root, name, text):
    path = root / "usr/bin" / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)


def test_files_are_read_below_the_root(simulated):
    host = Host(str(simulated))
    assert "NAME=\ufffd\n" == host.read("/etc/os-release")
    assert ["os-release"] == host.list("/etc")
    assert ["/sys/class/net/eth0"] == host.glob("/sys/class/net/*")
    assert host.exists("/etc") and not host.exists("/nope")


def test_an_unreadable_file_is_absent_under_its_own_name(simulated):
    assert {"absent": "no such file or directory: /etc/nope"} == Host(str(simulated)).read_or_absent("/etc/nope")
    assert {"absent": "is a directory: /etc"} == Host(str(simulated)).read_or_absent("/etc")


def test_a_file_longer_than_its_limit_is_no_short_file(simulated):
    with pytest.raises(OSError) as raised:
        Host(str(simulated)).read("/etc/os-release", limit=3)
    assert errno.EFBIG == raised.value.errno


def test_a_link_is_read_as_it_is_written(simulated):
    (simulated / "etc/link").symlink_to("/usr/lib/os-release")
    assert "/usr/lib/os-release" == Host(str(simulated)).link("/etc/link")


def test_a_program_runs_in_the_c_locale_with_its_input(simulated, monkeypatch):
    monkeypatch.setenv("LC_MESSAGES", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    program(simulated, "tool", 'cat; echo "$LC_ALL$LC_MESSAGES$LANGUAGE $1" >&2; exit 3')
    assert (3, "in", "C word\n") == Host(str(simulated)).run(["tool", "word"], 5, stdin="in")


def test_a_simulated_node_runs_no_program_of_this_machine(simulated):
    assert Host("/").which("ls")
    with pytest.raises(ProgramMissing, match="ls"):
        Host(str(simulated)).run(["ls"], 5)


def test_a_simulated_path_comes_first(simulated, monkeypatch):
    (simulated / "opt").mkdir()
    program(simulated, "tool", "echo usr")
    (simulated / "opt/tool").symlink_to(simulated / "usr/bin/tool")
    monkeypatch.setenv("PATH", f"{simulated}/opt:/usr/bin")
    assert f"{simulated}/opt/tool" == Host(str(simulated)).which("tool")


def test_a_program_is_killed_with_its_children_at_the_deadline(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ProgramTimeout, match=r"no end within 0\.3 s") as raised:
        Host("/").run(["sh", "-c", f"sleep 64 3<>{tmp_path}/pipe & sleep 64"], 0.3)
    assert "sh" == raised.value.filename
    with pytest.raises(OSError) as nobody_reads:
        for _ in range(10_000):  # a killed process lets go of its files a moment later
            os.close(os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK))
            os.sched_yield()
    assert errno.ENXIO == nobody_reads.value.errno


def test_a_program_that_leaves_a_child_is_not_waited_for(tmp_path):
    assert (0, "x\n", "") == Host("/").run(["sh", "-c", "sleep 65 & echo x"], 30)


def test_output_beyond_the_limit_is_an_error_and_no_short_output():
    with pytest.raises(OutputTooLong, match="more than 1000 bytes"):
        Host("/").run(["sh", "-c", "yes"], 30, limit=1000)


def test_a_program_that_reads_no_input_does_no_harm():
    assert 0 == Host("/").run(["true"], 30, stdin="x" * 1_000_000).status


def test_lines_end_as_everywhere_also_where_a_program_thinks_it_speaks_to_a_terminal():
    assert "a\nb\rc\n" == Host("/").run(["printf", "a\\r\\nb\\rc\\r\\n"], 30).stdout


def test_a_signal_shows_as_negative_status():
    assert -9 == Host("/").run(["sh", "-c", "kill -9 $$"], 30).status


def test_a_mount_is_measured():
    assert Host("/").statvfs("/", 5).f_blocks > 0


def test_a_mount_that_is_not_there():
    with pytest.raises(FileNotFoundError) as raised:
        Host("/").statvfs("/nope", 5)
    assert {"absent": "no such file or directory: /nope"} == absent(raised.value)


def test_a_hung_mount_costs_its_deadline():
    import threading

    with pytest.raises(HostTimeout, match=r"no answer within 0\.2 s"):
        _in_child(threading.Event().wait, "/mnt", 0.2)


@pytest.mark.skipif(sys.platform != "linux", reason="nodes are Linux")
def test_the_root_is_the_machine_itself_by_default():
    assert "/proc/uptime" == Host("/").path("/proc/uptime")
