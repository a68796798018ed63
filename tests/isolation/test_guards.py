"""The guards as tables, without any file: how many, which racks, which findings."""

import datetime

import pytest

from fleetcheck.inventory import Node
from fleetcheck.isolation.act import DO, LEAVE
from fleetcheck.isolation.guards import Case, at_most
from fleetcheck.isolation.isolations import isolations
from fleetcheck.isolation.mark import Mark, read
from fleetcheck.isolation.standing import Standing
from fleetcheck.isolation.terms import IsolationEntry
from fleetcheck.isolation.wish import wanted
from fleetcheck.nodeset import fold
from fleetcheck.run import RunError

NOW = datetime.datetime(2026, 11, 30, 3, 20, tzinfo=datetime.UTC)
RUN = "20261130-031500-3f2a"
IDLE = Standing("IDLE", partitions=("batch",))
OURS = str(Mark(RUN, "quick", NOW, "GPU 3 is lost"))


def finding(severity="fatal", action="reboot", common=False):
    return {"check": "test_no_gpu_is_lost", "severity": severity, "action": action, "message": "lost", "common_cause": common}


def case(wanted_nodes, count=10, standings=None, budgets=None, labels=None, findings=None, verdict="failed", states=None, **verdicts):
    names = [f"n{number}" for number in range(1, count + 1)]
    nodes = tuple(Node(name, name, "p", labels=(labels or {}).get(name, {"rack": "12"}), state=(states or {}).get(name, "in-service")) for name in names)
    told = {"run": RUN, "tier": "quick", "complete": True, "partial": "", "replay_of": "", "isolate": fold(wanted_nodes), "nodes": {
        name: {"verdict": verdict if name in wanted_nodes else "healthy", "state": "in-service", "certified": False, "reason": "",
               "findings": ([finding()] if findings is None else findings) if name in wanted_nodes else []} for name in names}, **verdicts}
    stood = {**dict.fromkeys(names, IDLE), **(standings or {})}
    return Case(told, nodes, NOW, IsolationEntry(budgets=budgets or {}), {name: each for name, each in stood.items() if each},
                dict.fromkeys(wanted_nodes, NOW))


def decided(planned):
    return {act.node: act.guard or act.decision for act in isolations(planned).acts}


@pytest.mark.parametrize(("serving", "most"), [(1, 2), (8, 2), (200, 2), (299, 2), (300, 3), (1000, 10), (12500, 125)])
def test_two_or_one_percent(serving, most):
    assert most == at_most(serving)


@pytest.mark.parametrize(("count", "bad", "expected"), [
    (10, 2, DO), (10, 3, "number"), (100, 60, "number"), (1000, 10, DO), (1000, 11, "number"), (1, 1, DO),
])
def test_too_many_at_once_are_none(count, bad, expected):
    names = [f"n{number}" for number in range(1, bad + 1)]
    assert {expected} == set(decided(case(names, count)).values())


def test_nodes_out_already_are_not_new():
    stood = {"n1": Standing("IDLE+DRAIN", True, OURS), "n2": Standing("IDLE+DRAIN", True, "cabling", by="root")}
    assert {"n1": LEAVE, "n2": LEAVE, "n3": DO, "n4": DO} == decided(case(["n1", "n2", "n3", "n4"], standings=stood))


def test_one_refused_for_another_reason_counts_among_the_many():
    assert {"n1": "unknown", "n2": "number", "n3": "number"} == decided(case(["n1", "n2", "n3"], standings={"n1": None}))


@pytest.mark.parametrize(("budgets", "stood", "expected"), [
    ({"rack": "1"}, {}, {"n1": DO, "n2": "budget"}),
    ({"rack": "2"}, {}, {"n1": DO, "n2": DO}),
    ({"rack": "2"}, {"n9": Standing("DOWN", away=True)}, {"n1": DO, "n2": "budget"}),
    ({"rack": "2"}, {"n9": Standing("IDLE+DRAIN", True, "cabling")}, {"n1": DO, "n2": "budget"}),
    ({"rack": "1"}, {"n2": Standing("DOWN*", away=True)}, {"n1": "budget", "n2": DO}),
    ({"rack": "10%"}, {}, {"n1": DO, "n2": "budget"}),
    ({"rack": "9%"}, {}, {"n1": "budget", "n2": "budget"}),
    ({"partition": "1"}, {}, {"n1": DO, "n2": "budget"}),
    ({"fleet": "0"}, {}, {"n1": "budget", "n2": "budget"}),
    ({"rack": "2", "partition": "1"}, {}, {"n1": DO, "n2": "budget"}),
])
def test_budgets_bound_what_is_out_at_once(budgets, stood, expected):
    assert expected == decided(case(["n1", "n2"], standings=stood, budgets=budgets))


def test_each_rack_and_domain_has_room_of_its_own():
    labels = {"n1": {"rack": "1", "nvlink_domain": "a"}, "n2": {"rack": "2", "nvlink_domain": "a"}}
    assert {"n1": DO, "n2": DO} == decided(case(["n1", "n2"], labels=labels, budgets={"rack": "1"}))
    assert {"n1": DO, "n2": "budget"} == decided(case(["n1", "n2"], labels=labels, budgets={"nvlink_domain": "1"}))


def test_a_node_in_repair_takes_room_and_a_spare_gives_none():
    assert {"n1": "budget"} == decided(case(["n1"], budgets={"rack": "1"}, states={"n9": "maintenance"}))
    assert {"n1": "budget"} == decided(case(["n1"], budgets={"rack": "10%"}, states={"n9": "spare"}))


def test_a_budget_says_what_it_found():
    act = isolations(case(["n1"], budgets={"rack": "1"}, standings={"n9": Standing("DOWN", away=True)})).acts[0]
    assert "rack 12: 1 of 10 nodes are out, and 1 may be (budget 1)" == act.why


def test_the_gravest_go_first_where_room_is_short():
    planned = case(["n1", "n2"], budgets={"rack": "1"})
    planned.verdicts["nodes"]["n1"]["findings"] = [finding("degraded", "reset-gpu")]
    assert {"n1": "budget", "n2": DO} == decided(planned)


@pytest.mark.parametrize(("verdict", "findings", "expected"), [
    ("unreachable", [finding()], "unmeasured"), ("unknown", [], "unmeasured"), ("failed", [], "unmeasured"),
    ("failed", [finding(common=True)], "unmeasured"), ("degraded", [finding("warn")], "unmeasured"),
    ("degraded", [finding("degraded", "fix-config")], "unmeasured"), ("degraded", [finding("degraded", "isolate")], DO),
    ("failed", [finding(common=True), finding()], DO),
])
def test_only_measured_findings_of_its_own_isolate_a_node(verdict, findings, expected):
    assert {"n1": expected} == decided(case(["n1"], verdict=verdict, findings=findings))


def test_a_node_in_trouble_or_unknown_to_the_backend_is_left():
    assert {"n1": "unknown", "n2": "unknown"} == decided(case(["n1", "n2"], standings={"n1": None, "n2": Standing("WEIRD", trouble="what is WEIRD?")}))


@pytest.mark.parametrize("text", [
    "", "fleetcheck", "cabling", f"see {OURS}", OURS.replace("quick", "slow"), OURS.replace("T03", "T99"), OURS.partition("]")[0], "fleetcheck[]",
])
def test_only_our_own_tag_is_ours(text):
    assert read(text) is None and Standing("DRAIN", True, text).mark is None


def test_a_mark_survives_being_written_and_needs_the_node_held():
    assert Mark(RUN, "quick", NOW, "GPU 3 is lost") == read(OURS) == Standing("DRAIN", True, OURS).mark
    assert Standing("IDLE", False, OURS).mark is None
    assert 300 > len(str(Mark(RUN, "acceptance", NOW, "x" * 5000)))


@pytest.mark.parametrize("damage", [{"isolate": "n99"}, {"isolate": "n["}, {"isolate": 7}, {"nodes": {"n1": {}}}])
def test_verdicts_that_are_none_are_one_sentence(damage):
    with pytest.raises(RunError, match="judge the run again: fleetcheck judge"):
        wanted({**case(["n1"]).verdicts, **damage})
