"""Whether a run is complete, and what is said about the fleet rather than about a node."""

import pytest

ERROR = {"outcome": "error", "message": "no answer"}
FAILED = {"outcome": "failed", "severity": "fatal", "action": "reboot"}


def names(count):
    return [f"n{number:02}" for number in range(count)]


@pytest.mark.parametrize("changes", [{"narrowed": "-k ecc"}, {"interrupted": True}])
def test_a_narrowed_or_interrupted_run_is_partial_and_certifies_nothing(made, changes):
    verdicts = made.judged([made.result("n1")], run=made.info(**changes))
    assert (False, False) == (verdicts["complete"], verdicts["nodes"]["n1"]["certified"])


def test_a_planned_item_without_an_outcome_makes_the_run_partial_and_is_named(made):
    results = [made.result("n1", "test_a"), made.result("n1", "test_b")]
    verdicts = made.judged(results[:1], planned=made.plan(results))
    assert not verdicts["complete"]
    assert [("test_b", "n1")] == [(each["check"], each["node"]) for each in verdicts["missing"]]
    assert {"planned": 2, "measured": 1} == verdicts["nodes"]["n1"]["coverage"]


def test_an_item_with_two_outcomes_makes_the_run_partial_and_the_worse_one_counts(made):
    twice = [made.result("n1"), made.result("n1", **FAILED)]
    verdicts = made.judged(twice, planned=made.plan(twice[:1]))
    assert (False, "failed", 1) == (verdicts["complete"], verdicts["nodes"]["n1"]["verdict"], len(verdicts["repeated"]))


def test_an_outcome_nobody_planned_makes_the_run_partial(made):
    verdicts = made.judged([made.result("n1"), made.result("n1", "test_b")], planned=made.plan([made.result("n1")]))
    assert (False, 1) == (verdicts["complete"], len(verdicts["unplanned"]))


def test_a_run_that_planned_nothing_is_not_complete(made):
    assert not made.judged([], [made.node("n1")])["complete"]


def common(made, failing, of, outcome=None, failures=None):
    bad = outcome or FAILED
    results = [made.result(name, "test_time", **({**bad, "message": f"{name}: clock off"} if number < failing else {}))
               for number, name in enumerate(names(of))]
    others = [made.result(name, "test_other") for name in names(of)]
    return made.judged([*results, *others], failures=failures)


@pytest.mark.parametrize(("failing", "of", "findings"), [
    (4, 4, 1), (3, 3, 0), (3, 20, 0), (4, 40, 1), (4, 41, 0), (5, 50, 1), (5, 51, 0),
])
def test_a_check_failing_on_a_tenth_and_on_four_nodes_is_one_finding_about_the_fleet(made, failing, of, findings):
    verdicts = common(made, failing, of)
    failed = [name for name, said in verdicts["nodes"].items() if said["verdict"] == "failed"]
    assert findings == len(verdicts["fleet_findings"])
    assert (0 if findings else failing) == len(failed)
    assert bool(findings) == (verdicts["isolate"] == "")


@pytest.mark.parametrize(("silent", "of", "findings"), [(4, 4, 1), (3, 3, 0), (4, 40, 1), (4, 41, 0), (6, 60, 1), (6, 61, 0)])
def test_a_check_not_measured_on_a_tenth_and_on_four_nodes_is_one_finding_too(made, silent, of, findings):
    verdicts = common(made, silent, of, outcome=ERROR)
    assert findings == len(verdicts["fleet_findings"])
    assert ("", 0) == (verdicts["isolate"], verdicts["counts"]["nodes"]["failed"])
    if findings:
        assert (0, silent) == tuple(verdicts["fleet_findings"][0][key] for key in ("failed", "unmeasured"))


def test_a_common_cause_is_kept_on_the_nodes_and_withholds_their_certificate(made):
    verdicts = common(made, 4, 8)
    said = verdicts["nodes"]["n00"]
    assert ("healthy", False, True) == (said["verdict"], said["certified"], said["findings"][0]["common_cause"])
    assert verdicts["nodes"]["n07"]["certified"]
    finding = verdicts["fleet_findings"][0]
    assert ("test_time", "n[00-03]", 4, 8, "clock off", "fix-config") == tuple(
        finding[key] for key in ("check", "nodes", "failed", "of", "message", "action"))


def test_failures_and_gaps_of_one_check_add_up_to_a_common_cause(made):
    results = [made.result(name, **(FAILED if number < 2 else ERROR if number < 4 else {}))
               for number, name in enumerate(names(10))]
    finding = made.judged(results)["fleet_findings"][0]
    assert (2, 2) == (finding["failed"], finding["unmeasured"])


def test_a_node_with_a_fault_of_its_own_beside_a_common_cause_still_fails(made):
    results = [made.result(name, "test_time", **FAILED) for name in names(8)]
    verdicts = made.judged([*results, made.result("n03", "test_gpu", message="GPU lost", **FAILED)])
    assert ("n03", "failed") == (verdicts["isolate"], verdicts["nodes"]["n03"]["verdict"])
    assert "test_gpu" == verdicts["nodes"]["n03"]["findings"][0]["check"]


def kernel_faults(made, *causes, of=20):
    """The first nodes failed one check, each by the causes given; the others passed it."""
    given = dict(zip(names(of), causes, strict=False))
    ends = {name: {**FAILED, "causes": given[name]} if name in given else {} for name in names(of)}
    return made.judged([made.result(name, "test_kernel", **end) for name, end in ends.items()])


def test_different_kernel_events_on_many_nodes_are_faults_of_these_nodes(made):
    verdicts = kernel_faults(made, ("xid-79",), ("xid-48",), ("xid-95", "xid-48"), ("xid-62",), ("xid-119",))
    assert ([], "n[00-04]") == (verdicts["fleet_findings"], verdicts["isolate"])


def test_the_same_kernel_event_on_many_nodes_is_one_finding_that_hides_no_other_event(made):
    verdicts = kernel_faults(made, ("a",), ("a",), ("a",), ("a",), ("a", "xid-79"), ("xid-79",))
    assert ["n[00-03]"] == [each["nodes"] for each in verdicts["fleet_findings"]]
    assert "n[04-05]" == verdicts["isolate"]


def test_different_checks_failing_on_many_nodes_are_no_common_cause(made):
    results = [made.result(name, f"test_{number}", **FAILED) for number, name in enumerate(names(10))]
    verdicts = made.judged(results)
    assert [] == verdicts["fleet_findings"]
    assert "n[00-09]" == verdicts["isolate"]


def test_what_a_lost_login_left_unmeasured_is_not_counted_against_a_check(made):
    lost = {name: made.Failure("no-banner", f"{name}: hangs") for name in names(4)}
    verdicts = common(made, 4, 20, outcome=ERROR, failures=lost)
    assert [] == verdicts["fleet_findings"]


def test_many_checks_unmeasured_on_the_same_nodes_for_the_same_reason_are_one_finding(made):
    dumb = names(12)[:6]
    results = [made.result(name, f"test_{check}", **({**ERROR, "message": f"{name}: none"} if name in dumb else {}))
               for name in names(12) for check in range(20)]
    failures = {name: made.Failure("no-python", f"{name}: no python3") for name in dumb}
    verdicts = made.judged(results, failures=failures)
    assert [20] == [len(each["checks"]) for each in verdicts["fleet_findings"]]
    assert {"unknown": 6, "healthy": 6} == {key: verdicts["counts"]["nodes"][key] for key in ("unknown", "healthy")}


@pytest.mark.parametrize(("kind", "lost", "of", "findings"), [
    ("authentication", 8, 8, 1), ("authentication", 4, 40, 1), ("authentication", 3, 30, 0),
    ("host-key-changed", 4, 8, 1),
    ("connect-timeout", 8, 8, 1), ("connect-timeout", 16, 64, 0), ("refused", 3, 3, 0),
])
def test_logins_failing_across_the_fleet_are_a_finding_about_the_controller(made, kind, lost, of, findings):
    failures = {name: made.Failure(kind, f"{name}: why") for name in names(of)[:lost]}
    results = [made.result(name, **(ERROR if name in failures else {})) for name in names(of)]
    verdicts = made.judged(results, failures=failures)
    assert findings == len(verdicts["fleet_findings"])
    assert (lost, "") == (verdicts["counts"]["nodes"]["unreachable"], verdicts["isolate"])


def test_a_failing_pair_blames_nobody_and_certifies_neither(made):
    pair = made.result("", "test_pair", nodes=("n1", "n2"), nodeid="test_pairs.py::test_pair[n1-n2]", **FAILED)
    verdicts = made.judged([made.result("n1"), made.result("n2"), made.result("n3"), pair])
    assert ["healthy"] * 3 == [said["verdict"] for said in verdicts["nodes"].values()]
    assert [False, False, True] == [said["certified"] for said in verdicts["nodes"].values()]
    assert [("fleet-check", "n[1-2]")] == [(each["kind"], each["nodes"]) for each in verdicts["fleet_findings"]]
    assert verdicts["complete"]


def test_a_fleet_item_that_names_one_node_blames_that_node(made):
    culprit = made.result("", "test_rails", nodes=("n2",), nodeid="test_rails.py::test_rails", **FAILED)
    verdicts = made.judged([made.result("n1"), made.result("n2"), culprit])
    assert ("n2", []) == (verdicts["isolate"], verdicts["fleet_findings"])
    assert {"planned": 1, "measured": 1} == verdicts["nodes"]["n2"]["coverage"]


def test_the_same_records_give_the_same_verdicts(made):
    assert common(made, 4, 8) == common(made, 4, 8)
