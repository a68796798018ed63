"""report.html as a run and a command write it; and what it takes from records that nodes may have spoilt."""

import json
import sys
from dataclasses import replace

import madefleet
import pytest

from fleetcheck import cli
from fleetcheck.checkbook import read, shipped_checks
from fleetcheck.report.earlier import complete_before
from fleetcheck.report.html import acceptance, embed, reading
from fleetcheck.report.html.evidence import gathered
from fleetcheck.report.html.outcomes import Outcomes
from fleetcheck.report.html.series import series
from fleetcheck.run import RunError
from fleetcheck.text import visible

NOTHING = {"nodes": {}, "missing": []}


def test_every_shipped_check_answers_one_of_ten_points():
    points = acceptance.points()
    assert 10 == len(points)
    assert [] == sorted({each.file for each in read(shipped_checks()) if acceptance.point_of(points, each.file) is None})


@pytest.mark.parametrize(("outcome", "state"), [("passed", "met"), ("failed", "failed"), ("error", "open"), ("skipped", "not asked")])
def test_a_point_is_met_only_by_what_was_measured(outcome, state):
    check = ("test_x", "checks/node/test_pcie.py", "pcie", "")
    given = madefleet.result("r", check, "n1", outcome)
    outcomes = Outcomes(NOTHING, [madefleet.planned(given)])
    outcomes.add(given)
    assert state == acceptance.answered(acceptance.points(), outcomes)[4].state


def test_an_item_without_an_outcome_stays_visible_as_lost():
    given = madefleet.result("r", ("test_x", "checks/node/test_pcie.py", "pcie", ""), "n1")
    lost = {"check": given.check, "node": "n1", "component": "pcie", "item": given.nodeid}
    outcomes = Outcomes({"nodes": {}, "missing": [lost]}, [madefleet.planned(given)])
    assert b"m" == bytes(outcomes.marks["n1"])
    assert "open" == acceptance.answered(acceptance.points(), outcomes)[4].state


def test_items_of_several_nodes_are_counted_one_by_one():
    pairs = madefleet.pair_results("r", ["n1", "n2", "n3"])
    slow = madefleet.result("r", ("test_pairs_reach_bandwidth", "checks/interconnect/test_pairs.py", "fabric", ""), "", "failed", nodes=("n2", "n3"))
    outcomes = Outcomes(NOTHING, map(madefleet.planned, [*pairs[:2], slow]))
    for each in [*pairs[:2], slow]:
        outcomes.add(each)
    point = acceptance.answered(acceptance.points(), outcomes)[7]
    assert ("failed", 2, 1) == (point.state, point.passed, point.failed)
    assert [("n1", "n2"), ("n1", "n3")] == [(one, other) for one, other, _ in outcomes.pairs["send_recv.busbw_gb_s"]]


@pytest.mark.parametrize("gaps", [0, 3])
def test_a_certificate_for_nobody_says_so(tmp_path, gaps):
    check = madefleet.entries(1)[0]
    listed = madefleet.names(3)
    results = [madefleet.result("20261130-031500-3f2a", check, name, "error" if place < gaps else "passed", message="not told")
               for place, name in enumerate(listed)]
    run = madefleet.record(tmp_path, "20261130-031500-3f2a", results, [], madefleet.inventory_text(3))
    text = madefleet.paged(run).read_text()
    assert ("are certified" in text, "No node of fleet" in text) == (not gaps, bool(gaps))


def test_the_report_command_writes_the_page_and_names_it(small, monkeypatch, capsys):
    small.path.unlink()
    monkeypatch.setattr(sys, "argv", ["fleetcheck", "report", str(small.run.path), "--html"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    assert small.path.read_text().startswith("<!DOCTYPE html>")
    said = capsys.readouterr().out
    assert "report.html" in said and "1 STILL" in said and "STILL n05: GPU 5: remap.pending 1 (2 runs)  [" in said


@pytest.mark.parametrize("told", [
    {}, {"windows": None}, {"windows": [None, 3, {}]}, {"windows": [{"t": "0", "seconds": 10, "gpus": {}}]},
    {"windows": [{"t": float("nan"), "seconds": 10, "gpus": {}}]}, {"windows": [{"t": True, "seconds": 1, "gpus": []}]},
])
def test_telemetry_that_is_none_draws_nothing(told):
    assert series(told, 1000) is None


def test_telemetry_with_holes_draws_what_was_told():
    windows = [madefleet.window(10.0 * number, 2) for number in range(6)]
    windows[2]["gpus"]["0"]["temperature"] = {"absent": "GPU_IS_LOST"}
    windows[3]["gpus"]["0"]["temperature"] = ["a", None, float("inf")]
    windows[4]["gpus"] = {"0": 7}
    windows[5]["metrics"] = "fast"
    found = series({"windows": windows, "events": [None, {"t": "x"}, {"t": 5, "kind": 3, "text": None}]}, 1000)
    assert [True, True, False, False, False, True] == [value is not None for value in found.curves["temperature"]["0"]]
    assert [(5, "3", "None")] == found.events


def test_heat_peaks_survive_thinning_out():
    windows = [madefleet.window(10.0 * number, 8) for number in range(1000)]
    windows[517]["gpus"]["3"]["temperature"] = [80.0, 90.0, 104.0]
    assert 104 == max(series({"windows": windows}, 1000).curves["temperature"]["3"])


def test_spoilt_evidence_costs_its_own_serials_only(tmp_path):
    good = madefleet.facts("r", "n1", 1, 2)
    madefleet.write(tmp_path / "evidence.jsonl", [good, madefleet.Evidence(
        run="r", stage="facts", probe="facts-fast", node="n2", started="", seconds=0,
        answers={"gpu": madefleet.Answer(True, data={"gpus": [None, {"index": 0, "identity": 5}, {"index": [], "identity": {"serial": "x"}}]}),
                 "rdma": madefleet.Answer(True, data={"devices": []}), "system": madefleet.Answer(True, data={"busy": "job", "machine": None})})])
    found = gathered(tmp_path / "evidence.jsonl", set(), 2)
    assert ("GPU", "0", "16500000100") in found.serials["n1"] and [] == found.serials["n2"]


def test_records_that_the_database_refuses_are_read_all_the_same(tmp_path):
    one, other = (madefleet.facts("r", name, number, 2) for number, name in enumerate(("n1", "n2"), 1))
    broken = replace(one, answers={**one.answers, "scheduler": madefleet.Answer(True, data={"scontrol": {"state": "DRAIN", "reason": "\ud800"}})})
    loaded = madefleet.load("r", "n1", 20, 2)
    madefleet.write(tmp_path / "evidence.jsonl", [broken, other, replace(loaded, answers={"telemetry": replace(loaded.answers["telemetry"], error="\udfff")})])
    found = gathered(tmp_path / "evidence.jsonl", set(), 2)
    assert {"n1": "scheduler: DRAIN; \ud800", "n2": "scheduler: IDLE"} == found.use
    assert 1 == found.loaded and ["n1"] == list(found.curves) and found.serials["n1"] and found.serials["n2"]


def test_outcomes_are_the_same_line_by_line_and_by_the_database(tmp_path):
    checks, text = madefleet.entries(6), madefleet.inventory_text(8)
    results = madefleet.fleet_results("20261130-000000-aaaa", 8, checks) + madefleet.pair_results("20261130-000000-aaaa", madefleet.names(4))
    results[3] = replace(results[3], outcome="error", message="half a pair \ud800", metrics={})
    results[4] = replace(results[4], metrics={"temperature": {"GPU 0": 61, "GPU 1": 74.5, "GPU 2": "?"}}, bound={"low": None, "high": 80, "unit": "°C"})
    run = madefleet.record(tmp_path, "20261130-000000-aaaa", results, [], text)
    with run.results.open("a") as stream:
        stream.write('{"run": "cut sh')
    verdicts, one_by_one = run.conclusions(), Outcomes(run.conclusions(), run.planned())
    for each in run.judged():
        one_by_one.add(each)
    read = reading.outcomes(run, verdicts)
    assert vars(one_by_one) == vars(read)
    run.results.write_text(run.results.read_text().replace('"outcome"', "outcome", 1))
    with pytest.raises(RunError, match=r"results.jsonl:1: damaged line"):
        reading.outcomes(run, verdicts)


def test_every_character_that_must_be_visible_is_seen_in_json():
    hidden = [each for each in map(chr, range(sys.maxunicode + 1)) if visible(each) != each]
    assert [] == [each for each in hidden if not embed.ESCAPED.search(json.dumps(each))]


def test_only_complete_runs_of_the_same_fleet_and_tier_are_compared_with(small, tmp_path):
    checks, text = madefleet.entries(8)[:4], madefleet.inventory_text(8)
    ids = ["20261128-000000-aaaa", "20261129-000000-aaaa", "20261129-100000-aaaa", "20261129-200000-aaaa", "20261130-000000-aaaa"]
    differing = [{}, {"complete": False}, {"replay_of": ids[0]}, {"tier": "quick"}, {}]
    runs = [madefleet.record(tmp_path, each, madefleet.fleet_results(each, 8, checks), [], text, **about) for each, about in zip(ids, differing, strict=True)]
    (tmp_path / "reports" / "20261129-300000-dddd").mkdir()
    (tmp_path / "reports" / "20261129-400000-eeee").mkdir()
    (tmp_path / "reports" / "20261129-400000-eeee" / "run.json").write_text("{")
    assert [ids[0]] == [each["run"] for each in complete_before(runs[-1], runs[-1].conclusions())]
