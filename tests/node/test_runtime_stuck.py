"""Collectors that no signal reaches: reported, abandoned, and not started a second time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from nodecode import answer, payload_with, replied, request

from fleetcheck.node import process
from fleetcheck.node.runner import Collector, by_name, stuck_before

FREEZER = Path("/sys/fs/cgroup/freezer")
NO_FREEZER = "no cgroup v1 freezer that we may use: run as root with it mounted at /sys/fs/cgroup/freezer"
STAT = "{pid} ({name}) {state} 1 {pid} {pid} 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 {start} 0 0\n"


def a_proc(folder, *processes):
    (folder / "uptime").write_text("1000.00 1.00\n")
    for pid, name, state, started in processes:
        (folder / str(pid)).mkdir()
        (folder / str(pid) / "stat").write_text(STAT.format(pid=pid, name=name, state=state, start=started * os.sysconf("SC_CLK_TCK")))
    return str(folder)


@pytest.mark.parametrize(("name", "state", "started", "stuck"), [
    ("fc-gpu", "D", 100, True),
    ("fc-gpu", "S", 100, False),
    ("fc-gpu", "D", 995, False),
    ("fc-pci", "D", 100, False),
    ("fc-gpu) D", "S", 100, False),
])
def test_an_earlier_run_stuck_in_the_kernel_is_found(tmp_path, name, state, started, stuck):
    proc = a_proc(tmp_path, (7, name, state, started), (8, "sh", "S", 1))
    found = stuck_before(Collector("gpu", dict, 40), proc)
    assert stuck == bool(found)
    assert not stuck or found == "not started: an earlier run of it is stuck in D state, pid 7, for 900 s"


def test_long_names_are_cut_as_the_kernel_cuts_them():
    assert "fc-kernel_log_x" == process.name_of("kernel_log_xid_catalogue")


def test_a_name_given_twice_names_both_owners():
    with pytest.raises(ValueError, match=r"'gpu' is claimed by .* and by"):
        by_name((("gpu", Path.cwd, 1), ("gpu", Path.home, 1)))


@pytest.fixture
def freezer():
    """A cgroup in which processes can be frozen: in D state, beyond SIGKILL, like a call that hangs in a driver."""
    group = FREEZER / f"fleetcheck-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip(NO_FREEZER)
    yield group
    (group / "freezer.state").write_text("THAWED")
    while (group / "cgroup.procs").read_text():
        continue
    group.rmdir()


def test_a_collector_beyond_sigkill_is_left_and_not_started_again(freezer):
    archive = payload_with(f"""
import os
def freezes(host, settings):
    open({str(freezer / "cgroup.procs")!r}, "w").write(str(os.getpid()))
    open({str(freezer / "freezer.state")!r}, "w").write("FROZEN")
def other(host, settings): return {{"fine": True}}
COLLECTORS = (("freezes", freezes, 0.3), ("other", other, 5))
""")
    first = replied(answer(archive, request("freezes", "other")).stdout)["answers"]
    assert {"fine": True} == first["other"]["data"]
    assert "no answer within 0.3 s, stuck in D state, pid " in first["freezes"]["error"]
    second = replied(answer(archive, request("freezes", "other")).stdout)["answers"]
    assert {"fine": True} == second["other"]["data"]
    assert "not started: an earlier run of it is stuck in D state, pid " in second["freezes"]["error"]
