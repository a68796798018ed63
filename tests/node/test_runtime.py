"""The node code as a login shell runs it, on every python3 of this machine."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest
from nodecode import COMMAND, answer, payload_with, pythons, replied, request, standard_input

SOURCE = r"""
import os, time
def fine(host, settings): return {"who": settings["who"], "nan": float("nan"), "bytes": b"\xff", "text": "a\udcff", "coverage": "8 of 8 GPUs"}
def broken(host, settings): return helper()
def helper(): raise ValueError("bad\x1b[31m")
def hangs(host, settings): time.sleep(60)
def hangs_in_a_program(host, settings): host.run(["sleep", "3661"], 60)
def daemonises(host, settings): return {"status": host.run(["sh", "-c", "sleep 3662 & echo started"], 5).status}
def exits(host, settings): os._exit(3)
def crashes(host, settings): os.kill(os.getpid(), 11)
def leaves(host, settings): raise SystemExit(0)
def floods(host, settings): return {"x": "y" * 5000000}
def prints(host, settings):
    print("<<fleetcheck n0 5>>"); os.write(1, b"noise"); os.write(2, b"noise")
    return {}
def no_data(host, settings): return {"x": object()}
def no_mapping(host, settings): return None
COLLECTORS = tuple((f.__name__, f, 0.7 if "hangs" in f.__name__ else 10) for f in (
    fine, broken, hangs, hangs_in_a_program, daemonises, exits, crashes, leaves, floods, prints, no_data, no_mapping))
"""
NAMES = ["fine", "broken", "hangs", "hangs_in_a_program", "daemonises", "exits", "crashes", "leaves", "floods", "prints",
         "no_data", "no_mapping", "unheard_of"]


@pytest.fixture(scope="module")
def archive():
    return payload_with(SOURCE)


@pytest.fixture(scope="module", params=pythons())
def answers(request, archive, tmp_path_factory):
    """Every collector above asked at once, under one python3."""
    done = answer(archive, question(), request.param, tmp_path_factory.mktemp("node") / "bin")
    assert (0, b"") == (done.returncode, done.stderr)
    return replied(done.stdout)["answers"]


def question(*names, **more):
    return request(*(names or NAMES), settings={"who": "me"}, **more)


def test_data_arrives_as_json(answers):
    fine = answers["fine"]
    assert fine["ok"] and "" == fine["error"] and "8 of 8 GPUs" == fine["coverage"]
    assert "me" == fine["data"]["who"]
    assert {"absent": "not a number: nan"} == fine["data"]["nan"]
    assert (r"\xff", r"a\udcff") == (fine["data"]["bytes"], fine["data"]["text"])
    assert {"cpu_seconds", "memory_bytes"} == set(fine["metrics"])


@pytest.mark.parametrize(("name", "error"), [
    ("broken", "ValueError: bad\x1b[31m (__init__.py:5, helper)"),
    ("hangs", "no answer within 0.7 s, killed"),
    ("hangs_in_a_program", "no answer within 0.7 s, killed"),
    ("exits", "it ended without an answer (exit status 3)"),
    ("crashes", "it ended without an answer (signal 11)"),
    ("leaves", "SystemExit: 0 (__init__.py:11, leaves)"),
    ("floods", "its answer is longer than 4194304 bytes"),
    ("no_data", "TypeError: a collector returned a object, which is no data"),
    ("no_mapping", "TypeError: 'NoneType' object is not iterable"),
    ("unheard_of", "this version of the node code has no collector 'unheard_of'"),
])
def test_a_failing_collector_says_why_and_costs_no_other(answers, name, error):
    assert not answers[name]["ok"] and {} == answers[name]["data"]
    assert answers[name]["error"].startswith(error)


def test_what_collectors_print_goes_nowhere(answers):
    assert answers["prints"]["ok"]


def test_what_programs_leave_behind_is_ended(answers):
    assert {"status": 0} == answers["daemonises"]["data"]
    assert [] == [line for line in ps() if line.startswith(("sleep 3661", "sleep 3662"))]


def ps():
    return subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()


def test_the_reply_says_who_answered(archive):
    about = replied(answer(archive, question("fine")).stdout)["runtime"]
    assert os.uname().nodename == about["hostname"]
    assert os.geteuid() == about["uid"]
    assert {"product", "chassis", "board"} == set(about["serials"])


def test_a_simulated_node_answers_from_its_root(archive, tmp_path):
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/hostname").write_text("sim-03\n")
    about = replied(answer(archive, question("fine"), FLEETCHECK_ROOT=str(tmp_path)).stdout)["runtime"]
    assert "sim-03" == about["hostname"]


def test_a_request_out_of_time_is_answered_with_what_there_is(archive):
    """Eight at once; the ninth would start when the time is over."""
    slow = payload_with("import time\ndef hangs(host, settings): time.sleep(60)\n"
                        "COLLECTORS = tuple(('c%d' % n, hangs, 30) for n in range(9))")
    found = replied(answer(slow, request(*(f"c{n}" for n in range(9)), seconds=0.5)).stdout)["answers"]
    assert "not started: the 0.5 s of this request were over" == found["c8"]["error"]
    assert all(found[f"c{n}"]["error"].startswith("no answer within 0.") for n in range(8))


@pytest.fixture
def started(tmp_path):
    """A node at work on a collector whose program hangs, holding a pipe of ours open."""
    source = """
def waits(host, settings): host.run(["sh", "-c", "exec 3>%s; echo x >&3; exec sleep 3663" % settings["pipe"]], 60)
COLLECTORS = (("waits", waits, 50),)"""
    os.mkfifo(tmp_path / "pipe")
    node = subprocess.Popen(["/bin/sh", "-c", COMMAND], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    question = request("waits", seconds=40, settings={"pipe": str(tmp_path / "pipe")})
    node.stdin.write(standard_input(payload_with(source), question))
    node.stdin.flush()
    with (tmp_path / "pipe").open("rb", 0) as pipe:
        assert b"x\n" == pipe.read(2)
        yield node, pipe
    node.stdin.close()
    node.kill()
    node.wait()


@pytest.mark.parametrize("end", [lambda node: node.stdin.close(), lambda node: node.send_signal(signal.SIGTERM),
                                 lambda node: node.send_signal(signal.SIGKILL)], ids=["eof", "term", "kill"])
def test_nothing_outlives_the_controller(started, end):
    """Its connection ends, it is told to end, or it is killed: the programs of its collectors go too, which closes the pipe."""
    node, pipe = started
    end(node)
    assert b"" == pipe.read(1)
    assert node.wait(10) != 0
