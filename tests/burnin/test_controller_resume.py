"""A controller killed with kill -9 while a node is under load; the next session attaches and loses no sample. The node is this machine."""

import json
import os
import signal
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from loadnode import processes_with
from smallsite import Site

from fleetcheck.node.supervisor.watch import SHORTEST_EMPTY

CHECK = """
    import pytest

    @pytest.mark.check(component="gpu", severity="fatal", action="reboot", tiers=("burnin",))
    def test_the_load_ended_well(load_life, telemetry):
        assert not load_life.broke_off()
"""
HERE = """fleet: here
defaults: {profile: cpu-host, claim: none, transport: local, load: {loads: [cpu]}}
nodes: {n1: }
"""


@pytest.fixture
def site(tmp_path):
    found = Site(tmp_path)
    found.write(CHECK)
    (tmp_path / "here.yaml").write_text(HERE)
    return found


def book(site):
    path = site.runs()[0] / "loads.jsonl" if site.runs() else Path("/nowhere")
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")] if path.exists() else []


def until(process, ready):
    while not ready():
        try:
            pytest.fail(f"it ended with status {process.wait(0.05)}")
        except subprocess.TimeoutExpired:
            continue


def test_kill_9_then_resume_loses_no_sample(site):
    process = site.start("checks", "--inventory", "here.yaml", "--duration", "18s")
    try:
        until(process, lambda: any(line["what"] == "polled" and line["about"]["windows"] for line in book(site)))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    left = next(line["about"]["ends_in"] for line in book(site) if line["what"] == "polled")
    assert left < 3 or processes_with(site.runs()[0].name), "a slow machine may be told of its end already; else it runs on without us"
    run = site.runs()[0]
    done = site.run("checks", "--resume", run.name, timeout=300)
    assert 0 == done.status, done.output
    lines = book(site)
    assert 1 == len([line for line in lines if line["what"] == "started"]) and "ended" == lines[-1]["what"]
    evidence = next(each for each in map(json.loads, (run / "evidence.jsonl").read_text().splitlines()) if each["probe"] == "load")
    windows = evidence["answers"]["telemetry"]["data"]["windows"]
    assert len(windows) == sum(line["about"]["windows"] for line in lines if line["what"] == "polled") > 2
    gaps = [later["t"] - earlier["t"] - earlier["seconds"] for earlier, later in pairwise(windows)]
    assert all(-0.01 < gap < 2.1 * SHORTEST_EMPTY for gap in gaps), "where a load ends, two short windows with nothing in them may be left out"
    assert [] == processes_with(run.name) and not list(Path(f"/var/tmp/fleetcheck-{os.getuid()}").glob(f"*{run.name}*"))
