"""Loads of simulated nodes through pytest as a user starts it: busy nodes, Ctrl-C, kill -9 and --resume, one run at a time."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from smallsite import Site

CHECKS = """
    import pytest

    @pytest.mark.check(component="gpu", severity="fatal", action="reboot", tiers=("burnin",))
    def test_processors_compute(load_life, telemetry):
        assert not load_life.broke_off()

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_name_is_told(system):
        assert system.hostname
"""
RACK = """fleet: rack
defaults: {{profile: cpu-host, claim: none, torch_python: {python}, load: {{device: cpu, devices: 1, loads: [gemm]}}}}
nodes: {{'sim-[01-02]': }}
sandbox: {{nodes: {{{nodes}}}}}
"""


@pytest.fixture
def site(tmp_path):
    found = Site(tmp_path)
    found.write(CHECKS)
    return found


def rack(site, nodes=""):
    (site.folder / "rack.yaml").write_text(RACK.format(python=sys.executable, nodes=nodes))


def until(process, ready):
    while not ready():
        try:
            pytest.fail(f"it ended with status {process.wait(0.05)}")
        except subprocess.TimeoutExpired:
            continue


def book(site):
    path = site.runs()[0] / "loads.jsonl" if site.runs() else Path("/nowhere")
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")] if path.exists() else []


def said(site, what):
    return [line["node"] for line in book(site) if line["what"] == what]


def alive(site):
    """Supervisors of loads that still run."""
    pids = [line["about"]["pid"] for line in book(site) if line["what"] == "started"]
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_a_busy_node_is_deferred_and_its_neighbour_loaded(site):
    rack(site, 'sim-01: {busy: "4711"}')
    done = site.run("checks", "--inventory", "rack.yaml", "--duration", "10s", timeout=300)
    outcomes = done.outcomes()
    assert {"test_name_is_told[sim-01]": "passed", "test_name_is_told[sim-02]": "passed",
            "test_processors_compute[sim-01]": "error", "test_processors_compute[sim-02]": "passed"} == outcomes, done.output
    messages = {each["node"]: each["message"] for each in done.lines("results") if each["check"] == "test_processors_compute"}
    assert "sim-01: deferred: job 4711" in messages["sim-01"] and 6 == done.status
    assert ["sim-02"] == said(site, "started") == said(site, "ended") and [] == alive(site)


def test_ctrl_c_ends_every_load_and_leaves_nothing(site):
    rack(site)
    process = site.start("checks", "--inventory", "rack.yaml", "--duration", "10min")
    try:
        until(process, lambda: len(said(site, "started")) == 2)
        assert 2 == len(alive(site))
        process.send_signal(signal.SIGINT)
        assert 2 == process.wait(120), (site.folder / "output.txt").read_text()
    finally:
        process.kill()
        process.wait()
    assert ["sim-01", "sim-02"] == sorted(said(site, "ended"))
    assert [] == alive(site)


def test_a_load_without_an_end_or_a_claim_is_one_clear_error(site):
    rack(site)
    refused = site.run("checks", "--inventory", "rack.yaml", "--tier", "burnin")
    assert 4 == refused.status and "--tier burnin needs an end; give --duration 4h" in refused.output
    (site.folder / "rack.yaml").write_text((site.folder / "rack.yaml").read_text().replace("claim: none, ", ""))
    refused = site.run("checks", "--inventory", "rack.yaml", "--duration", "1h")
    assert 4 == refused.status and "no claim is given, and a load needs one" in refused.output and "Traceback" not in refused.output
    assert 4 == site.run("checks", "--inventory", "rack.yaml", "--duration", "soon").status


def test_a_second_run_of_the_fleet_is_refused(site):
    rack(site, "sim-01: {commands: {python3: {hang: true}}}")
    process = site.start("checks", "--inventory", "rack.yaml")
    try:
        until(process, lambda: site.runs() and (site.runs()[0] / "plan.jsonl").exists())
        time.sleep(0.1)
        second = site.run("checks", "--inventory", "rack.yaml")
        assert 4 == second.status and f"another run of fleet rack is at work in reports: pid {process.pid} on" in second.output
    finally:
        process.kill()
        process.wait()
    assert 1 == len([run for run in site.runs() if (run / "plan.jsonl").exists()])
