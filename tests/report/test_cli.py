"""fleetcheck judge, report and version: a run from its own files, and mistakes in one line."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from nights import command

from fleetcheck import __version__, inventory
from fleetcheck.journal import Journal
from fleetcheck.records import Answer, Evidence, Failure
from fleetcheck.run import Run, keep_inventory

INVENTORY = """\
fleet: rack
defaults: {profile: h100-sxm5-8}
nodes:
  sim-[01-03]: {}
  sim-04: {state: maintenance, note: new board}
"""


@pytest.fixture
def recorded(tmp_path, made):
    """A run as a fleet run leaves it, without its verdicts: sim-02 failed, sim-03 could not be reached."""
    source = tmp_path / "rack.yaml"
    source.write_text(INVENTORY)
    run = Run(tmp_path / "reports" / "20261130-031500-3f2a")
    run.path.mkdir(parents=True)
    results = [made.result("sim-01"), made.result("sim-02", message="GPU 5: lost", parts=(made.GPU,), **made.FATAL),
               made.result("sim-03", outcome="error", message="sim-03: refused")]
    write(run.plan, made.plan(results))
    write(run.results, results)
    refused = Failure("refused", "sim-03: refused")
    write(run.evidence, [evidence("sim-01"), evidence("sim-02"), evidence("sim-03", refused)])
    keep_inventory(run, inventory.load(source))
    run.describe({"run": run.id, "tier": "quick", "started": "2026-11-30T03:15:00+00:00", "ended": "…",
                  "interrupted": False, "inventory": "rack.yaml", "inventory_path": str(source),
                  "nodes": "", "group": "", "narrowed": ""})
    return run


def evidence(node, failure=None):
    return Evidence(run="r", stage="facts", probe="facts-fast", node=node, started="", seconds=0.1, failure=failure,
                    answers={} if failure else {"system": Answer(True, data={"serial": f"SN-{node}"})})


def write(path, records):
    journal = Journal(path)
    for record in records:
        journal.append(record)
    journal.close()


def test_a_run_is_judged_again_from_its_files(monkeypatch, capsys, recorded):
    code, out, _ = command(monkeypatch, capsys, "judge", recorded.path)
    verdicts = json.loads(recorded.verdicts.read_text())
    assert (1, "sim-02", True) == (code, verdicts["isolate"], verdicts["complete"])
    assert ["healthy", "failed", "unreachable", "unknown"] == [each["verdict"] for each in verdicts["nodes"].values()]
    assert "FAILED: 1 node" in out
    assert "sim-02: machine serial SN-sim-02, GPU 5 at 0000:5D:00.0" in out
    assert (recorded.path / "junit.xml").is_file()


@pytest.mark.parametrize(("told", "kept"), [({}, True), ({"replay_of": "20261130-031500-3f2a"}, False), ({"shard": "1/2"}, False)])
def test_what_was_measured_once_counts_once_in_history(monkeypatch, capsys, recorded, told, kept):
    recorded.describe({**recorded.facts, **told})
    command(monkeypatch, capsys, "judge", recorded.path)
    assert (recorded.path / "measurements.parquet").exists() == kept


def test_a_run_is_found_by_id_and_as_latest(monkeypatch, capsys, recorded):
    reports = recorded.path.parent
    (reports / "latest").symlink_to(recorded.id)
    for name in (recorded.id, "latest"):
        assert command(monkeypatch, capsys, "judge", name, "--reports", reports)[0] == 1


def test_a_report_is_written_again_and_says_the_same(monkeypatch, capsys, recorded):
    _, first, _ = command(monkeypatch, capsys, "judge", recorded.path)
    before = (recorded.path / "junit.xml").read_bytes()
    (recorded.path / "junit.xml").unlink()
    code, second, _ = command(monkeypatch, capsys, "report", recorded.path)
    assert (0, first, before) == (code, second, (recorded.path / "junit.xml").read_bytes())


def test_a_run_that_never_ended_is_judged_as_interrupted(monkeypatch, capsys, recorded):
    recorded.describe({key: value for key, value in recorded.facts.items() if key not in ("ended", "interrupted")})
    code, out, _ = command(monkeypatch, capsys, "judge", recorded.path)
    assert code == 2
    assert "PARTIAL, so it certifies nothing: interrupted" in out


def test_the_last_try_of_a_probe_counts(monkeypatch, capsys, recorded):
    with recorded.evidence.open("a") as stream:
        first = json.loads(recorded.evidence.read_text().splitlines()[0])
        stream.write(json.dumps({**first, "node": "sim-03"}) + "\n")
    command(monkeypatch, capsys, "judge", recorded.path)
    assert json.loads(recorded.verdicts.read_text())["nodes"]["sim-03"]["verdict"] == "unknown"


@pytest.mark.parametrize(("words", "error"), [
    (("judge", "nope"), "no run 'nope'"), (("report", "nope"), "no run 'nope'"),
    (("shards", "2", "checks/", "--shard", "1/2"), "--shard is not for fleetcheck shards"), (("explain", "--checks", "."), "no check in it"),
    (("sandbox", "nope.yaml"), "nope.yaml"), (("judge",), "RUN"), (("frobnicate",), "frobnicate"), ((), ""),
])
def test_a_mistake_is_told_shortly_and_ends_with_code_4(monkeypatch, capsys, tmp_path, words, error):
    monkeypatch.chdir(tmp_path)
    code, out, err = command(monkeypatch, capsys, *words)
    assert code == 4
    assert error in out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize("subcommand", ["judge", "report"])
def test_a_judged_run_whose_results_are_gone_keeps_its_verdicts(monkeypatch, capsys, recorded, subcommand):
    command(monkeypatch, capsys, "judge", recorded.path)
    before = recorded.verdicts.read_bytes()
    recorded.results.unlink()
    code, _, err = command(monkeypatch, capsys, subcommand, recorded.path)
    assert (4, before) == (code, recorded.verdicts.read_bytes())
    assert f"{recorded.results}: missing" in err and "space" not in err


def test_a_run_is_looked_for_in_a_place_only_once(monkeypatch, capsys, tmp_path):
    code, _, err = command(monkeypatch, capsys, "judge", "/nowhere", "--reports", tmp_path)
    assert (4, 1) == (code, err.count("/nowhere nor") + err.count("in /nowhere;"))
    assert command(monkeypatch, capsys, "judge", "latest", "--reports", tmp_path / "none")[2].count("is no folder") == 1


def test_a_report_before_any_verdict_says_what_to_type(monkeypatch, capsys, recorded):
    code, _, err = command(monkeypatch, capsys, "report", recorded.path)
    assert (4, 1) == (code, len(err.splitlines()))
    assert f"fleetcheck judge {recorded.id}" in err


def test_a_damaged_line_names_file_and_line(monkeypatch, capsys, recorded):
    recorded.results.write_text("{broken\n" + recorded.results.read_text())
    code, _, err = command(monkeypatch, capsys, "judge", recorded.path)
    assert code == 4
    assert f"{recorded.results}:1" in err


def test_records_of_another_shape_are_a_mistake_in_one_line(monkeypatch, capsys, recorded, made):
    line = json.loads(recorded.results.read_text().splitlines()[0])
    recorded.results.write_text(json.dumps({**line, "colour": "blue"}) + "\n")
    code, _, err = command(monkeypatch, capsys, "judge", recorded.path)
    assert (4, 1) == (code, len(err.splitlines()))


def test_the_version_is_told(monkeypatch, capsys):
    assert (0, f"fleetcheck {__version__}\n", "") == command(monkeypatch, capsys, "version")


def test_unlisted_nodes_of_a_changed_inventory_are_told(monkeypatch, capsys, recorded, made):
    results = [replace(each, node="sim-77", nodeid="x[sim-77]") for each in [made.result("sim-01")]]
    write(recorded.results, results)
    command(monkeypatch, capsys, "judge", recorded.path)
    verdicts = json.loads(recorded.verdicts.read_text())
    assert ("unlisted", False) == (verdicts["nodes"]["sim-77"]["state"], verdicts["complete"])


@pytest.mark.parametrize("words", [("plan", "fleet.yaml", "--tier", "full"), ("explain", "test_no_gpu_is_lost"), ("judge", "\u00e9")])
def test_a_terminal_that_knows_ascii_only_gets_escapes_and_no_traceback(tmp_path, words):
    (tmp_path / "fleet.yaml").write_text("fleet: \u00e9\ndefaults: {profile: h100-sxm5-8, claim: none}\nnodes: {'n[1-4]': {rack: 1}}\n")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([sys.executable, "-m", "fleetcheck.cli", *words], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert b"Traceback" not in done.stderr and done.returncode == (4 if words[0] == "judge" else 0)


@pytest.mark.parametrize(("words", "code", "said"), [
    (("version",), 3, b"No space left on device"), (("explain",), 3, b"No space left on device"), (("judge", "nope"), 4, b"no run"),
])
def test_an_output_that_cannot_be_written_is_said_in_one_line_and_is_no_finding(tmp_path, words, code, said):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "fleetcheck.cli", *words], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (code, 1) == (done.returncode, len(done.stderr.splitlines()))
    assert said in done.stderr


def test_an_output_that_is_closed_is_no_mistake(tmp_path):
    command_line = f"exec {sys.executable} -m fleetcheck.cli version >&-"
    done = subprocess.run(["/bin/sh", "-c", command_line], cwd=tmp_path, stderr=subprocess.PIPE, check=False)
    assert (0, b"") == (done.returncode, done.stderr)


def test_ctrl_c_ends_with_code_2_and_one_line(monkeypatch, capsys, recorded):
    def interrupted(*_):
        raise KeyboardInterrupt
    monkeypatch.setattr("fleetcheck.rejudge.judge_again", interrupted)
    code, _, err = command(monkeypatch, capsys, "judge", recorded.path)
    assert (2, "fleetcheck: interrupted\n") == (code, err)
