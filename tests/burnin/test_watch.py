"""Watching a run's loads: while they go on, when they are over, on a terminal and by plain lines; and one run of a fleet at a time."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time

import pytest
from fakeloads import Fleet, controlled, inventory_of
from fleetrun import attentive, clean_environment

from fleetcheck.burnin import watch as watching
from fleetcheck.burnin.book import NAME, now
from fleetcheck.burnin.commands import running
from fleetcheck.burnin.watch import Watched, watch
from fleetcheck.lock import FleetLock
from fleetcheck.records import Failure
from fleetcheck.run import Run, RunError

HOT = {"gpus": {"0": {"temperature": [60, 65, 71], "power": [600, 650, 700]}, "1": {"temperature": [60, 64, 68], "power": [600, 640, 700]}}}


def line(node, what, about=None, told=None):
    return json.dumps({"node": node, "what": what, "time": now(), "about": about or {}, "told": told or {}}, separators=(",", ":")) + "\n"


def polled(node, windows=(), results=None, **about):
    told = {"windows": list(windows), "events": [], "results": results or {}, "snapshots": {}}
    size = len(json.dumps(list(windows), separators=(",", ":")))
    return line(node, "polled", {"windows": len(windows), "events": 0, "state": "running", "current": "gemm", "ends_in": 600,
                                 "done": sorted(results or {}), "windows_bytes": size, "events_bytes": 2, **about}, told)


@pytest.fixture
def run(tmp_path):
    """A run with three nodes: one under load, one deferred, one done whose memory test broke."""
    folder = tmp_path / "reports" / "20261130-020000-abcd"
    folder.mkdir(parents=True)
    (folder / "plan.jsonl").touch()
    (folder / NAME).write_text("".join([
        line("", "terms", {"nodes": 3, "tier": "burnin", "seconds": 3600, "waves": 1, "until": "", "poll_seconds": 300}),
        line("n1", "starting"), line("n1", "started", {"ends_in": 1800}), polled("n1", [HOT]),
        line("n2", "deferred", {"message": "n2: deferred: job 123", "kind": "deferred"}),
        line("n3", "starting"), line("n3", "started", {"ends_in": 1800}),
        polled("n3", [HOT], {"memtest": {"ok": False, "error": "3 wrong words\x1b[2J"}, "gemm": {"ok": True}}, state="ended"),
        line("n3", "fetched"), line("n3", "ended", {"why": "done"}),
    ]))
    return Run(folder)


def shown(run, once=True):
    screen = io.StringIO()
    watch(run, screen, once)
    return screen.getvalue()


def test_the_table_says_who_is_loaded_done_and_in_trouble(run):
    page = shown(run)
    assert "1 nodes loaded, 2 of 3 done, 2 with trouble, running loads end" in page
    rows = {row.split()[0]: row for row in page.splitlines()[2:] if row.strip()}
    assert ("71 °C, 1.3 kW" in rows["n1"] and "gemm" in rows["n1"] and "9 min" in rows["n1"]) or "10 min" in rows["n1"]
    assert "deferred: job 123" in rows["n2"]
    assert "memtest: 3 wrong words\\x1b[2J" in rows["n3"] and "\x1b[2J" not in page


def test_a_half_written_line_is_waited_for(run):
    whole = polled("n1", [HOT], current="hbm")
    with (run.path / NAME).open("a") as stream:
        stream.write(whole[:40])
    seen = Watched(run)
    seen.look()
    assert "gemm" == seen.nodes["n1"].current
    with (run.path / NAME).open("a") as stream:
        stream.write(whole[40:])
    seen.look()
    assert "hbm" == seen.nodes["n1"].current and 2 == seen.nodes["n1"].kept.windows


def test_a_damaged_line_is_one_clear_error(run):
    with (run.path / NAME).open("a") as stream:
        stream.write("nonsense\n")
    with pytest.raises(RunError, match=r"loads.jsonl: damaged line at byte \d+"):
        shown(run)


def test_without_a_terminal_it_goes_on_by_lines_until_all_is_over(run, monkeypatch):
    monkeypatch.setattr(watching, "LOOK_SECONDS", 0.05)
    screen = io.StringIO()
    thread = threading.Thread(target=watch, args=(run, screen))
    thread.start()
    while "1 nodes loaded" not in screen.getvalue():
        time.sleep(0.01)
    with (run.path / NAME).open("a") as stream:
        stream.write(line("n1", "fetched") + line("n1", "ended", {"why": "done"}))
    thread.join()
    assert "0 nodes loaded, 3 of 3 done" in screen.getvalue() and "\x1b" not in screen.getvalue()


def test_a_run_without_loads_is_said_so(tmp_path):
    (tmp_path / "20261130-020000-abcd").mkdir()
    with pytest.raises(RunError, match="this run loads no node"):
        shown(Run(tmp_path / "20261130-020000-abcd"))


def test_latest_is_the_newest_run_that_loads_nodes_though_it_has_not_ended(run, tmp_path):
    older = tmp_path / "reports" / "20261129-020000-abcd"
    older.mkdir()
    (older / NAME).write_text("")
    assert run.id == running(tmp_path / "reports", "latest").id


def test_it_is_live_on_a_terminal(run):
    main, end = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "fleetcheck.cli", "watch", run.id, "--reports", str(run.path.parent)], stdin=end, stdout=end, stderr=end,
                               env=clean_environment(TERM="xterm", COLUMNS="160"), preexec_fn=attentive)
    os.close(end)
    seen = b""
    try:
        while b"deferred" not in seen or b"n3" not in seen:
            seen += os.read(main, 1 << 16)
        process.send_signal(signal.SIGINT)
        process.wait(60)
    finally:
        process.kill()
        process.wait()
        os.close(main)
    assert b"\x1b[" in seen and b"Traceback" not in seen


def test_a_running_controllers_book_can_be_watched(tmp_path):
    folder = tmp_path / "20261130-020000-abcd"
    folder.mkdir()
    fleet, inventory = Fleet(silent={"n2": Failure("no-route", "n2: no route")}), inventory_of(tmp_path, "n[1-2]")
    with controlled(folder, fleet, inventory) as (loads, futures):
        loads.ready("n1", None)
        loads.ready("n2", None)
        for future in futures.values():
            future.result(30)
    page = shown(Run(folder))
    assert "0 nodes loaded, 2 of 2 done, 1 with trouble" in page and "could not be fetched" in page


HOLD = ("import sys; from pathlib import Path; from fleetcheck.lock import FleetLock\n"
        "lock = FleetLock(Path(sys.argv[1]), 'f'); lock.name('20261130-020000-abcd'); print('held', flush=True); sys.stdin.read()")


@pytest.fixture
def held(tmp_path):
    """Another process that holds the lock of fleet f."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert "held" == process.stdout.readline().strip()
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def test_a_second_run_of_the_fleet_is_refused_and_told_who_and_since_when(tmp_path, held):
    with pytest.raises(RunError) as refused:
        FleetLock(tmp_path, "f")
    said = str(refused.value)
    assert f"another run of fleet f is at work in {tmp_path}: pid {held.pid} on " in said
    assert ", since 20" in said and "run 20261130-020000-abcd" in said and "--reports DIR" in said


def test_another_fleet_or_another_folder_is_free(tmp_path, held):
    FleetLock(tmp_path, "g").release()
    FleetLock(tmp_path / "more", "f").release()


def test_a_lock_whose_holder_was_killed_is_taken_over(tmp_path, held):
    held.kill()
    held.wait()
    FleetLock(tmp_path, "f").release()
    assert [] == list(tmp_path.iterdir())


def test_a_fleet_may_be_called_anything(tmp_path):
    lock = FleetLock(tmp_path, "../rack 12\n")
    assert [lock.path.name] == [path.name for path in tmp_path.iterdir()]
    lock.release()
