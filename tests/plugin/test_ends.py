"""However a run ends, what was measured is kept, nothing is left running, and the rest can be gathered later."""

import json
import signal
import subprocess
from pathlib import Path

import pytest
from fleetrun import Outcome, read_lines

CHECKS = """
    import pytest

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_kernel_is_told(system):
        assert system.kernel

    @pytest.mark.check(component="os", severity="fatal", action="reboot")
    def test_name_is_told(system):
        assert system.hostname
"""
RACK = "fleet: rack\ndefaults: {profile: cpu-host}\nnodes: {'sim-[01-02]': }\nsandbox: {nodes: {%s}}\n"


@pytest.fixture
def rack(site):
    """sim-01 answers, sim-02 accepts a login and never says a word; a minute of patience is longer than any load takes for sim-01."""
    site.write(CHECKS)
    (site.folder / "hung.yaml").write_text(RACK % "sim-02: {commands: {python3: {hang: true}}}")
    (site.folder / "refused.yaml").write_text(RACK % "sim-01: {unreachable: refused}, sim-02: {unreachable: refused}")
    (site.folder / "half.yaml").write_text(RACK % "sim-02: {unreachable: refused}")
    (site.folder / "whole.yaml").write_text(RACK % "")
    return site


@pytest.fixture
def waiting(rack):
    """A run in which sim-01 is judged and sim-02 is waited for."""
    process = rack.start("checks", "--inventory", "hung.yaml")
    try:
        until(process, lambda: rack.runs() and len(lines(rack.runs()[0], "results")) == 2)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def until(process, ready):
    """Wait for a file of a running process; pytest-timeout or CI ends what never happens."""
    while not ready():
        try:
            pytest.fail(f"it ended with status {process.wait(0.05)}")
        except subprocess.TimeoutExpired:
            continue


def lines(run, name):
    path = run / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")] if path.exists() else []


def said(site):
    return (site.folder / "output.txt").read_text()


def children_of(pid):
    """Every process below this one."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.split()
    parents = dict(zip(map(int, listed[::2]), map(int, listed[1::2]), strict=True))
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


def gone(pids):
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.parametrize("signals", [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGHUP,), (signal.SIGINT, signal.SIGINT)],
                         ids=["Ctrl-C", "SIGTERM", "SIGHUP", "Ctrl-C twice"])
def test_an_interrupted_run_keeps_what_was_measured_and_leaves_nothing_running(rack, waiting, signals):
    below = children_of(waiting.pid)
    for each in signals:
        waiting.send_signal(each)
    assert waiting.wait(20) == 2, said(rack)
    run = rack.runs()[0]
    verdicts = json.loads((run / "verdicts.json").read_text())
    assert (True, False) == (verdicts["interrupted"], verdicts["complete"])
    assert [each["outcome"] for each in lines(run, "results")] == ["passed", "passed"]
    assert "sim-01" in {each["node"] for each in lines(run, "evidence")}
    assert {each["node"] for each in verdicts["missing"]} == {"sim-02"}
    assert not any(node["certified"] for node in verdicts["nodes"].values())
    assert below and gone(below)


def test_an_interrupted_run_is_finished_by_asking_only_for_the_rest(rack, waiting):
    waiting.send_signal(signal.SIGINT)
    waiting.wait(20)
    resumed(rack)


def test_a_killed_run_is_finished_by_asking_only_for_the_rest(rack, waiting):
    waiting.kill()
    waiting.wait()
    run = rack.runs()[0]
    for name in ("evidence", "results"):
        with (run / f"{name}.jsonl").open("a") as stream:
            stream.write('{"run":"half a li')
    resumed(rack)


def resumed(rack):
    before = rack.runs()[0]
    done = rack.run("checks", "--inventory", "whole.yaml", "--resume", before.name)
    assert done.status == 0, done.output
    assert rack.runs() == [before] and done.run == before.resolve()
    verdicts = done.verdicts
    assert (True, False, []) == (verdicts["complete"], verdicts["interrupted"], verdicts["missing"])
    assert sorted(done.outcomes()) == [f"test_{word}_is_told[sim-0{n}]" for word in ("kernel", "name") for n in (1, 2)]
    assert len(done.lines("results")) == 4
    answered = [each["node"] for each in read_lines(before / "evidence.jsonl") if not each["failure"]]
    assert sorted(answered) == ["sim-01", "sim-02"]


def test_a_node_that_failed_is_asked_again_and_a_replay_of_before_stays_as_it_was(rack):
    first = rack.run("checks", "--inventory", "half.yaml")
    original, before = first.run, first.verdicts["counts"]
    replay = rack.run("checks", "--replay", "latest").run
    done = rack.run("checks", "--inventory", "whole.yaml", "--resume", original.name)
    assert done.status == 0, done.output
    assert [each["node"] for each in read_lines(original / "evidence.jsonl")].count("sim-01") == 1
    assert json.loads((replay / "verdicts.json").read_text())["counts"] == before
    assert len(read_lines(replay / "evidence.jsonl")) == 2


def test_the_plan_is_whole_before_anybody_is_contacted(rack):
    done = rack.run("checks", "--inventory", "refused.yaml")
    assert done.status == 1
    assert {node["verdict"] for node in done.verdicts["nodes"].values()} == {"unreachable"}
    assert len(done.lines("plan")) == len(done.lines("results")) == 4 and done.verdicts["complete"] is True
    log = (done.run / "gather.log").read_text()
    assert "sim-01" in log and "sim-02" in log
    birth = (done.run / "plan.jsonl").stat().st_mtime_ns
    assert birth <= (done.run / "gather.log").stat().st_mtime_ns and birth <= (done.run / "evidence.jsonl").stat().st_mtime_ns


def test_x_ends_without_waiting_for_pending_asks(rack):
    rack.write("import pytest\n\n@pytest.mark.check(component='os', severity='fatal', action='reboot')\n"
               "def test_fails(node, system):\n    assert not system.kernel\n")
    process = rack.start("checks", "--inventory", "hung.yaml", "-x")
    assert process.wait(30) == 1, said(rack)
    outcome = Outcome(1, said(rack), rack.folder / "reports")
    assert outcome.verdicts["complete"] is False and {each["node"] for each in outcome.verdicts["missing"]} == {"sim-02"}


@pytest.mark.parametrize(("file_bytes", "what"), [(1000, "File too large"), (2900, "results.jsonl: No space left on device")])
def test_a_full_disk_stops_the_run_with_one_clear_error(site, file_bytes, what):
    done = site.replay("-p", "no:cacheprovider", file_bytes=file_bytes)
    assert done.status == 3, done.output
    assert "cannot write reports" in done.output and what in done.output and "free some space" in done.output
    assert "Traceback" not in done.output and "INTERNALERROR" not in done.output
    assert not (site.folder / "reports" / "latest").exists()


def test_a_disk_that_fills_while_verdicts_are_written_is_said_too(site):
    probe = site.replay("-p", "no:cacheprovider")
    sizes = {path.name: path.stat().st_size for path in probe.run.iterdir()}
    done = site.replay("-p", "no:cacheprovider", file_bytes=max(sizes["results.jsonl"], sizes["verdicts.json"]) + 200)
    assert sizes["junit.xml"] > max(sizes["results.jsonl"], sizes["verdicts.json"]) + 200
    assert done.status == 3 and "junit.xml: File too large" in done.output, done.output
    assert "Traceback" not in done.output and "INTERNALERROR" not in done.output
