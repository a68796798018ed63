"""A campaign over simulated nodes, as a user starts it: real SSH, real ranks with gloo, a node whose collectives hang; Ctrl-C, then --resume."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fleetrun import CHECKS, run_pytest, start

RACK = """fleet: rack
defaults:
  profile: near
  claim: none
  torch_python: {python}
  interconnect: {{ports: 31600-31699, most_bytes: 1048576, stall_seconds: 6, rendezvous_seconds: 60}}
nodes: {{'sim-[1-4]': }}
sandbox: {{nodes: {{sim-3: {{ranks: [{{hang: 3, op: all_reduce}}]}}}}}}
"""
NEAR = """extends: cpu-host
limits: {trial_peer_fraction: {low: 0.05, unit: of peers, source: all nodes are this machine, date: 2026-11-30}}
"""


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(CHECKS / "interconnect", tmp_path / "checks" / "interconnect", ignore=shutil.ignore_patterns("__pycache__", "test_cabling.py"))
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "rack.yaml").write_text(RACK.format(python=sys.executable))
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "near.yaml").write_text(NEAR)
    return tmp_path


def evidence(folder):
    found = list((folder / "reports").glob("2*/evidence.jsonl"))
    lines = found[0].read_text().splitlines(keepends=True) if found else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def trials(folder):
    return {each["probe"]: each["answers"]["trial"]["data"] for each in evidence(folder) if each["probe"].startswith("trial ")}


def ranks_left():
    """Ranks of this test's nodes that still run."""
    return sum(b"MASTER_PORT=316" in told(path) for path in Path("/proc").glob("[0-9]*/environ"))


def told(path):
    """What a file of /proc says; its process may be gone, or another user's."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_the_faulty_node_is_named_exactly_also_after_ctrl_c_and_resume(folder):
    process = start("checks", "--inventory", "rack.yaml", "--tier", "full", "--no-html", cwd=folder, output=folder / "output.txt")
    try:
        while not trials(folder):
            try:
                pytest.fail(f"it ended with status {process.wait(0.1)}: {(folder / 'output.txt').read_text()}")
            except subprocess.TimeoutExpired:
                continue
        process.send_signal(signal.SIGINT)
        assert 2 == process.wait(120), (folder / "output.txt").read_text()
    finally:
        process.kill()
        process.wait()
    assert 0 == ranks_left()
    before = trials(folder)
    done = run_pytest("checks", "--resume", "latest", "--no-html", cwd=folder, timeout=300, reports=folder / "reports")
    after = trials(folder)
    assert before.items() <= after.items() and len(after) > len(before)
    planned = [frozenset(each["members"]) for each in after.values() if each["step"] == "pairs"]
    assert len(planned) == len(set(planned)), "no planned pair is tried twice"
    failed = {each["nodeid"].rpartition("::")[2] for each in done.lines("results") if each["outcome"] == "failed"}
    assert {"test_no_collective_hangs_on_this_node[sim-3]"} == failed, done.output
    assert "sim-3" == done.verdicts["isolate"] and 1 == done.status
    assert {"sim-1", "sim-2", "sim-4"} == {name for name, each in done.verdicts["nodes"].items() if each["certified"]}
    assert {"sim-1", "sim-2", "sim-4"} == set(max(after.values(), key=lambda each: each["round"])["members"])
