"""Which verdict, action and certificate a node gets from what was measured on it."""

import pytest

from fleetcheck.records import UNREACHABLE
from fleetcheck.verdict_rules import WHICH

FATAL = {"outcome": "failed", "severity": "fatal", "action": "reboot"}
DEGRADED = {"outcome": "failed", "severity": "degraded", "action": "replace"}
WARN = {"outcome": "failed", "severity": "warn", "action": "observe"}
ERROR = {"outcome": "error", "message": "no answer"}
SKIPPED = {"outcome": "skipped", "message": "no NVLink in this profile"}
PASSED = {"outcome": "passed"}

RULES = [
    # outcomes of one node's checks → verdict, certified, action, (planned, measured)
    ([PASSED, PASSED], "healthy", True, "none", (2, 2)),
    ([PASSED, SKIPPED], "healthy", True, "none", (1, 1)),
    ([PASSED, ERROR], "healthy", False, "none", (2, 1)),
    ([PASSED, WARN], "healthy", False, "observe", (2, 2)),
    ([PASSED, DEGRADED], "degraded", False, "replace", (2, 2)),
    ([WARN, DEGRADED, FATAL], "failed", False, "reboot", (3, 3)),
    ([FATAL, ERROR], "failed", False, "reboot", (2, 1)),
    ([FATAL, {**FATAL, "action": "replace"}], "failed", False, "replace", (2, 2)),
    ([FATAL, {**DEGRADED, "action": "replace"}], "failed", False, "reboot", (2, 2)),
    ([ERROR, ERROR], "unknown", False, "none", (2, 0)),
    ([SKIPPED], "unknown", False, "none", (0, 0)),
]


@pytest.mark.parametrize(("outcomes", "verdict", "certified", "action", "coverage"), RULES)
def test_the_worst_measured_finding_decides(made, outcomes, verdict, certified, action, coverage):
    results = [made.result("n1", f"test_{number}", **outcome) for number, outcome in enumerate(outcomes)]
    said = made.judged(results)["nodes"]["n1"]
    assert (verdict, certified, action) == (said["verdict"], said["certified"], said["action"])
    assert dict(zip(("planned", "measured"), coverage, strict=True)) == said["coverage"]


def test_a_warning_withholds_the_certificate_unless_the_tier_does_not_ask_for_that_check(made):
    results = [made.result("n1", "test_a"), made.result("n1", "test_b", **WARN)]
    assert not made.judged(results)["nodes"]["n1"]["certified"]
    assert not made.judged(results, required={"h100": ["test_b"]})["nodes"]["n1"]["certified"]
    assert made.judged(results, required={"h100": ["test_a"]})["nodes"]["n1"]["certified"]


def test_only_required_checks_must_be_measured_when_the_tier_names_them(made):
    results = [made.result("n1", "test_a"), made.result("n1", "test_b", **ERROR)]
    assert made.judged(results, required={"h100": ["test_a"]})["nodes"]["n1"]["certified"]
    assert not made.judged(results, required={"h100": ["test_b"]})["nodes"]["n1"]["certified"]


def test_a_required_check_that_was_never_selected_withholds_the_certificate(made):
    said = made.judged([made.result("n1", "test_a")], required={"h100": ["test_a", "test_z"]})["nodes"]["n1"]
    assert not said["certified"]
    assert "test_z" in said["reason"]


@pytest.mark.parametrize("tier", ["", "everything"])
def test_a_run_without_a_known_tier_certifies_nothing(made, tier):
    assert not made.judged([made.result("n1")], run=made.info(tier=tier))["nodes"]["n1"]["certified"]


@pytest.mark.parametrize("kind", sorted(UNREACHABLE))
def test_a_node_nobody_could_log_in_to_is_unreachable_and_says_why(made, kind):
    failure = made.Failure(kind, "n1: it did not answer")
    verdicts = made.judged([made.result("n1", **ERROR)], failures={"n1": failure})
    said = verdicts["nodes"]["n1"]
    assert ("unreachable", False) == (said["verdict"], said["certified"])
    assert {"which": WHICH[kind], "kind": kind, "message": "n1: it did not answer"} == said["unreachable"]
    assert verdicts["isolate"] == ""
    assert verdicts["complete"]


@pytest.mark.parametrize("kind", ["no-python", "become-refused", "wrong-machine", "deadline", "garbled"])
def test_a_node_that_was_reached_but_told_nothing_is_unknown(made, kind):
    said = made.judged([made.result("n1", **ERROR)], failures={"n1": made.Failure(kind, "n1: why")})["nodes"]["n1"]
    assert ("unknown", "n1: why", None) == (said["verdict"], said["reason"], said["unreachable"])


def test_a_fatal_finding_outlives_a_later_lost_login_and_a_degraded_one_does_not(made):
    lost = {"n1": made.Failure("connect-timeout", "n1: gone")}
    fatal = made.judged([made.result("n1", "test_a", **FATAL), made.result("n1", "test_b", **ERROR)], failures=lost)
    soft = [made.result("n1", "test_a", **DEGRADED), made.result("n1", "test_b", **ERROR)]
    degraded = made.judged(soft, failures=lost)
    assert ("failed", "n1") == (fatal["nodes"]["n1"]["verdict"], fatal["isolate"])
    assert degraded["nodes"]["n1"]["verdict"] == "unreachable"
    assert len(degraded["nodes"]["n1"]["findings"]) == 1


def test_nodes_out_of_service_are_listed_and_do_not_spoil_the_run(made):
    nodes = [made.node("n1"), made.node("n2", state="maintenance")]
    verdicts = made.judged([made.result("n1")], nodes)
    out = verdicts["nodes"]["n2"]
    assert verdicts["complete"]
    assert ("unknown", "maintenance", False, [], {"planned": 0, "measured": 0}) == (
        out["verdict"], out["state"], out["certified"], out["findings"], out["coverage"])


@pytest.mark.parametrize(("action", "isolated"), [
    ("none", ""), ("observe", ""), ("fix-config", ""), ("restart-service", ""), ("reset-gpu", "n1"), ("reboot", "n1"),
    ("isolate", "n1"), ("replace", "n1"),
])
def test_only_failed_nodes_whose_action_touches_hardware_are_isolated(made, action, isolated):
    fatal = made.result("n1", outcome="failed", severity="fatal", action=action)
    degraded = made.result("n2", outcome="failed", severity="degraded", action=action)
    assert isolated == made.judged([fatal, degraded])["isolate"]


def test_isolated_nodes_are_folded(made):
    results = [made.result(f"sim-{number:02}", f"test_{number}", **FATAL) for number in (2, 3, 7)]
    assert made.judged(results)["isolate"] == "sim-[02-03,07]"


def test_findings_come_worst_first_with_their_parts(made):
    part = {"kind": "gpu", "label": "GPU 5", "slot": "0000:5d:00.0", "serial": "165"}
    results = [made.result("n1", "test_a", **WARN), made.result("n1", "test_b", parts=(part,), message="lost", **FATAL)]
    first, second = made.judged(results)["nodes"]["n1"]["findings"]
    assert ("test_b", "fatal", "reboot", "lost", [part]) == tuple(
        first[key] for key in ("check", "severity", "action", "message", "parts"))
    assert second["check"] == "test_a"


def test_a_node_that_only_the_records_know_is_listed_and_never_certified(made):
    said = made.judged([made.result("n1"), made.result("ghost")], [made.node("n1")])["nodes"]["ghost"]
    assert ("unlisted", "unknown", False) == (said["state"], said["verdict"], said["certified"])


def test_the_serial_is_the_measured_one_else_the_expected_one(made):
    nodes = [made.node("n1", serials={"chassis": "A"}), made.node("n2", serials={"chassis": "B"})]
    said = made.judged([made.result("n1"), made.result("n2")], nodes, serials={"n1": "X"})["nodes"]
    assert ("X", "B") == (said["n1"]["serial"], said["n2"]["serial"])
