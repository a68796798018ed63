"""The life of a load on a node: started, polled, ended; over real processes, without a controller in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostmachine import Machine
from loadnode import PATH, LoadNode, archive_with, base_below, processes_with
from nodecode import pythons

from fleetcheck.exchange import Request
from fleetcheck.nodes import Node

FAKE = {"load": "fake", "seconds": 1}


@pytest.fixture(scope="module")
def archive():
    return archive_with()


@pytest.fixture
def node(tmp_path, monkeypatch, archive):
    root = tmp_path / "root"
    Machine(root)
    monkeypatch.setenv("FLEETCHECK_ROOT", str(root))
    monkeypatch.setenv("PATH", PATH)
    node = LoadNode(Node(name="n1", address="n1", profile="small", transport="local"), base_below(root), archive)
    yield node
    node.close()
    assert [] == processes_with(str(root))


def test_a_load_runs_to_its_end_and_hands_over_what_it_saw(node):
    started = node.start(FAKE, {"load": "fake", "seconds": 1, "settings": {"x": 1}})
    assert ("started", "load-1", "6a0b", "session") == tuple(started[key] for key in ("state", "id", "boot_id", "how"))
    assert started["pid"] > 1 and 0 < started["ends_in"] <= 30
    told = node.ended()
    assert ("ended", "done", False) == (told["state"], told["ended_why"], told["more"])
    result = told["results"]["fake"]
    assert result["ok"] and 2 == result["passes"] and "2 of 2" == result["coverage"]
    assert [100.0, 101.0] == [device["metrics"]["tflops_bf16"] for device in result["devices"]]
    loaded = [window for window in told["windows"] if window["load"] == "fake"]
    said = [window["metrics"]["0"]["tflops_bf16"] for window in loaded if "0" in window["metrics"]]
    assert len(loaded) >= 3 and said and all(each == [100.0] * 3 for each in said)
    assert {"state": "cleaned", "left": []} == node.end()
    assert not node.base.exists()


def test_the_folder_is_private_and_the_request_reaches_the_load(node):
    node.start({**FAKE, "settings": {"size": 7}}, scratch="/scratch", seed=5)
    folder = node.base / "load-1"
    assert [0o700, 0o700] == [path.stat().st_mode & 0o777 for path in (node.base, folder)]
    request = node.ended()["results"]["fake"]["request"]
    assert {"size": 7} == request["settings"] and 5 == request["seed"] and [0, 1] == request["devices"]
    assert request["scratch"] == str(node.base.parents[2] / "scratch") and "cpu" == request["device"]


def test_the_same_id_again_is_running(node):
    first = node.start({"load": "fake", "seconds": 20})
    again = node.start({"load": "fake", "seconds": 20})
    assert ("running", first["pid"]) == (again["state"], again["pid"])


def test_a_second_load_is_refused_with_who_holds_the_node(node):
    first = node.start({"load": "fake", "seconds": 20})
    refused = node.start(FAKE, name="load-2")
    assert "refused" == refused["state"]
    assert {"id": "load-1", "run": "20261130-080000", "pid": first["pid"]} == {key: refused["holder"][key] for key in ("id", "run", "pid")}
    assert refused["holder"]["since"].startswith("20")
    node.end()
    assert "started" == node.start(FAKE, name="load-2")["state"]


def test_the_lock_of_a_dead_supervisor_is_taken_over_with_all_that_it_left(node):
    first = node.start({"load": "fake", "seconds": 20, "settings": {"litter": True, "deaf": True}})
    node.until(lambda told: told["windows"] and told["windows"][-1]["metrics"])
    os.kill(first["pid"], signal.SIGKILL)
    assert "gone" == node.ended()["state"]
    assert "started" == node.start(FAKE, name="load-2")["state"]
    assert [] == [line for line in processes_with(str(node.base / "load-1"))]


def test_the_deadline_ends_it_though_nobody_asks(node):
    started = node.start({"load": "fake", "seconds": 600, "settings": {"hang": True, "deaf": True, "litter": True}}, seconds=3)
    wait_until(lambda: not processes_with(str(node.base)))
    assert Path(f"/proc/{started['pid']}/exe").exists() is False
    told = node.poll()
    assert ("ended", "deadline") == (told["state"], told["ended_why"])
    assert "it was ended without a result: no end" in told["results"]["fake"]["error"]
    assert [] == processes_with("time.sleep(3671)")
    assert ["cut"] == [each["kind"] for each in told["events"] if each["load"] == "fake"]  # the end of all is no fault of its process


def test_ending_a_load_leaves_nothing_though_it_ignores_sigterm(node):
    node.start({"load": "fake", "seconds": 20, "settings": {"deaf": True, "litter": True}})
    node.until(lambda told: told["windows"] and told["windows"][-1]["metrics"])
    assert {"state": "cleaned", "left": []} == node.end()
    assert not node.base.exists() and [] == processes_with("time.sleep(3671)")
    assert {"state": "cleaned", "left": []} == node.end()


def test_what_a_killed_supervisor_left_is_ended_too(node):
    started = node.start({"load": "fake", "seconds": 20, "settings": {"deaf": True}})
    node.until(lambda told: told["windows"] and told["windows"][-1]["metrics"])
    os.kill(started["pid"], signal.SIGKILL)
    told = node.ended()
    assert "gone" == told["state"] and "without a word of its end" in told["ended_why"] and told["windows"]
    assert {"state": "cleaned", "left": []} == node.end()
    assert not node.base.exists()


def test_a_reboot_is_told_by_boot_ids(node):
    node.start({"load": "fake", "seconds": 20})
    node.until(lambda told: told["windows"])
    path = node.base / "load-1/supervisor.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "boot_id": "before"}))
    told = node.poll()
    assert ("rebooted", "before", "6a0b") == (told["state"], told["started_boot_id"], told["boot_id"])
    assert told["windows"] and "the node has booted since" == told["ended_why"]
    assert "rebooted" == node.start(FAKE)["state"]


def test_an_orderly_reboot_which_stops_the_load_first_is_a_reboot_all_the_same(node):
    started = node.start({"load": "fake", "seconds": 20})
    os.kill(started["pid"], signal.SIGTERM)
    stopped = node.ended()
    assert ("ended", "stopped") == (stopped["state"], stopped["ended_why"])
    path = node.base / "load-1/supervisor.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "boot_id": "before"}))
    assert "rebooted" == node.poll()["state"]


def test_a_killed_process_is_an_event_with_its_device_and_the_others_go_on(node):
    node.start({"load": "fake", "seconds": 1.5, "settings": {"die_on": 1}}, device="cuda", devices=3)
    told = node.ended()
    result = told["results"]["fake"]
    assert "done" == told["ended_why"] and not result["ok"] and "2 of 3" == result["coverage"]
    assert [0, 1, 2] == [device["index"] for device in result["devices"]]
    errors = [device["error"] for device in result["devices"]]
    assert ["", ""] == [errors[0], errors[2]] and errors[1].startswith("its process was killed by signal 9 after")
    assert "CUDA error: an illegal memory access" in errors[1]
    event, = [event for event in told["events"] if event["kind"] == "process"]
    assert (1, "fake") == (event["gpu"], event["load"]) and "fake: its process was killed by signal 9" in event["text"]


def test_offsets_lose_and_repeat_nothing(node):
    node.start({"load": "fake", "seconds": 3}, window_seconds=0.2)
    windows = []
    while True:
        told = node.poll(windows=len(windows), events=0)
        windows += told["windows"]
        if told["state"] == "ended" and not told["more"]:
            break
    assert len(windows) == told["next"]["windows"] and windows == node.poll()["windows"]
    assert [window["t"] for window in windows] == sorted({window["t"] for window in windows}) and len(windows) > 5


def test_answers_are_capped_and_say_that_more_is_waiting(node):
    node.start(FAKE)
    node.ended()
    path = node.base / "load-1/windows.jsonl"
    known = len(path.read_text().splitlines())
    with path.open("a") as file:
        file.writelines(json.dumps({"t": number, "fill": "x" * 100_000}) + "\n" for number in range(60))
        file.write('{"t": 60, "fi')
    seen, more = [], True
    while more:
        told = node.poll(windows=known + len(seen), events=0)
        seen, more = seen + [window["t"] for window in told["windows"]], told["more"]
        assert not more or (len(told["windows"]) < 60 and {} == told["snapshots"])
    assert list(range(60)) == seen


@pytest.mark.parametrize("how", ["killed", "disconnected"])
def test_a_load_outlives_the_controller(node, how, tmp_path, archive):
    """The process that asked is killed with its whole group while the node still answers, or lets go of the connection."""
    (tmp_path / "archive.zip").write_bytes(archive)
    code = f"""
import sys
sys.path[:0] = {[str(Path(__file__).parents[1] / "support")]!r}
from loadnode import PATH, LoadNode, base_below
from fleetcheck.nodes import Node
from pathlib import Path
node = LoadNode(Node(name="n1", address="n1", profile="small", transport="local"), Path({str(node.base)!r}), Path({str(tmp_path / "archive.zip")!r}).read_bytes())
print(node.start({{"load": "fake", "seconds": 4}})["pid"], flush=True)
import threading
threading.Thread(target=lambda: node.answer("load_poll", id="load-1"), daemon=True).start()
{"import time; time.sleep(60)" if how == "killed" else "node.exchange.close()"}
"""
    node.ids.add("load-1")
    controller = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    pid = int(controller.stdout.readline())
    if how == "killed":
        os.killpg(controller.pid, signal.SIGKILL)
    controller.wait()
    controller.stdout.close()
    assert pid == node.poll()["pid"]
    assert "done" == node.ended()["ended_why"]


def test_a_start_that_is_cut_off_leaves_a_load_or_nothing(node):
    """A controller that gives up in the middle: the next start finds the load running, or starts it."""
    asked = {"id": "load-1", "seconds": 20, "schedule": [{"load": "fake", "seconds": 20}], "device": "cpu", "devices": 1}
    for seconds in (0.05, 0.3, 0.6):
        node.exchange.ask(node.node, Request("run", "load", "load", ("load_start",), seconds, {"load": asked}))
    assert node.start({"load": "fake", "seconds": 20})["state"] in ("started", "running")
    supervisors = [line.split()[0] for line in processes_with(str(node.base / "load-1"))]
    assert 1 == [Path(f"/proc/{pid}/comm").read_text() for pid in supervisors].count("fc-supervisor\n")


@pytest.mark.parametrize(("change", "message"), [
    ({"schedule": []}, "schedule is empty: nothing to run"),
    ({"schedule": [{"load": "nosuch", "seconds": 1}]}, "this version of the node code has no load 'nosuch'"),
    ({"schedule": [{"load": "../x", "seconds": 1}]}, "no load is called '../x'"),
    ({"seconds": 0}, "seconds is 0; expected a positive number of seconds"),
    ({"device": "tpu"}, "device is 'tpu'; expected one of auto, cuda, cpu"),
    ({"id": "../etc"}, "the id of a load is letters, digits, dots, dashes and underscores, not '../etc'"),
])
def test_a_request_that_cannot_be_run_starts_nothing(node, change, message):
    asked = {"id": "load-1", "seconds": 5, "schedule": [FAKE], **change}
    answer = node.answer("load_start", **asked)
    assert not answer.ok and message in answer.error
    assert not node.base.exists()


@pytest.mark.parametrize("trap", ["link", "open"])
def test_a_folder_that_is_not_ours_alone_is_refused(node, trap, tmp_path):
    node.base.parent.mkdir(parents=True)
    if trap == "link":
        (tmp_path / "elsewhere").mkdir()
        node.base.symlink_to(tmp_path / "elsewhere")
    else:
        node.base.mkdir()
        node.base.chmod(0o777)
    answer = node.answer("load_start", id="load-1", seconds=5, schedule=[FAKE])
    assert not answer.ok and ("is no folder; remove it" if trap == "link" else "is open to other users (mode 777)") in answer.error
    assert [] == list(node.base.iterdir())
    node.base.unlink() if trap == "link" else node.base.rmdir()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives folders away")
def test_a_folder_of_another_user_is_refused(node):
    node.base.mkdir(parents=True, mode=0o700)
    os.chown(node.base, 4711, 4711)
    answer = node.answer("load_start", id="load-1", seconds=5, schedule=[FAKE])
    assert not answer.ok and "belongs to user 4711; this user is 0" in answer.error
    node.base.rmdir()


def test_where_systemd_rules_the_load_is_a_unit_with_limits(node):
    root = node.base.parents[2]
    (root / "run/systemd/system").mkdir(parents=True)
    program(root, "systemd-run", f'echo "$@" >> {root}/said; while [ "$1" != -- ]; do shift; done; shift; setsid -f "$@" >/dev/null 2>&1 </dev/null; sleep 0.3')
    program(root, "systemctl", f'echo "$@" >> {root}/said')
    started = node.start({"load": "fake", "seconds": 20}, seconds=25)
    assert "systemd-run" == started["how"]
    said = (root / "said").read_text()
    for words in ("--unit=fleetcheck-load-1", "RuntimeMaxSec=115", "MemoryMax=", "OOMPolicy=continue", "KillMode=control-group", "--setenv=FLEETCHECK_ROOT="):
        assert words in said
    assert {"state": "cleaned", "left": []} == node.end()
    assert "stop fleetcheck-load-1\n" in (root / "said").read_text()


def test_a_systemd_that_refuses_is_said_and_does_without(node):
    root = node.base.parents[2]
    (root / "run/systemd/system").mkdir(parents=True)
    program(root, "systemd-run", "echo Failed to start transient service unit: Access denied >&2; exit 1")
    started = node.start(FAKE)
    assert ("session", "systemd-run refused: Failed to start transient service unit: Access denied") == (started["how"], started["note"])


def test_logind_that_ends_processes_at_logout_is_warned_of(node):
    root = node.base.parents[2]
    (root / "etc/systemd").mkdir(parents=True)
    (root / "etc/systemd/logind.conf").write_text("[Login]\nKillUserProcesses=yes\n")
    assert "KillUserProcesses=yes" in node.start(FAKE)["note"]


def test_a_schedule_is_repeated_until_the_time_is_over(node):
    node.start({"load": "fake", "seconds": 0.5}, seconds=4, repeat=True)
    told = node.ended()
    assert "done" == told["ended_why"] and told["results"]["fake"]["passes"] >= 2


def test_snapshots_are_taken_before_and_after(node):
    node.start({"load": "fake", "seconds": 5}, snapshot=["memory", "kernel_log"], seconds=60)
    running = node.until(lambda told: told["current"] == "fake")
    assert {} == running["snapshots"]
    root = node.base.parents[2]
    with (root / "dev/kmsg").open("a") as log:
        log.write("3,77,9000000,-;NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n")
    told = node.ended()
    assert {"before", "after"} == set(told["snapshots"])
    assert all(answer["ok"] for answers in told["snapshots"].values() for answer in answers.values())
    assert [[], [77]] == [[line["sequence"] for line in told["snapshots"][when]["kernel_log"]["data"]["records"]] for when in ("before", "after")]


def test_a_telemetry_process_that_dies_is_replaced_and_the_load_goes_on(node):
    node.start({"load": "fake", "seconds": 9})
    node.until(lambda told: told["windows"] and told["windows"][-1]["samples"])
    first, = telemetry(node)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: telemetry(node) and telemetry(node) != [first])
    told = node.ended()
    assert told["results"]["fake"]["ok"] and told["windows"][-3]["samples"] > 0


def telemetry(node):
    """The telemetry processes of a node's loads."""
    pids = [line.split()[0] for line in processes_with(str(node.base))]
    return [int(pid) for pid in pids if Path(f"/proc/{pid}/comm").read_text() == "fc-telemetry\n"]


@pytest.mark.parametrize("python", [python for python in pythons() if python != sys.executable and any(f"/{old}" in python for old in ("3.6", "3.7", "3.13"))])
def test_it_runs_under_every_python_of_a_node(node, python, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(python).parent}:{PATH}")
    node.start(FAKE, snapshot=["memory"])
    told = node.ended()
    assert "done" == told["ended_why"], told
    results = told["results"]
    assert results["fake"]["ok"] and results["fake"]["software"]["python"] in python
    assert {"before", "after"} == set(told["snapshots"]) and told["windows"]


def program(root, name, script):
    path = root / "usr/bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def wait_until(wanted, seconds=60):
    last = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < last
        time.sleep(0.1)
