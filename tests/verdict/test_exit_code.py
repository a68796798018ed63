"""The exit code is the first that applies of 4, 3, 2, 1, 6, 0."""

import pytest

from fleetcheck.exitcode import exit_code

FAILED = {"outcome": "failed"}
ERROR = {"outcome": "error"}


@pytest.mark.parametrize(("outcome", "flags", "code"), [
    ({}, {}, 0),
    ({"outcome": "skipped"}, {}, 0),
    (ERROR, {}, 6),
    (FAILED, {}, 1),
    ({"outcome": "failed", "severity": "warn"}, {}, 1),
    (FAILED, {"interrupted": True}, 2),
    (FAILED, {"interrupted": True, "internal": True}, 3),
    (FAILED, {"interrupted": True, "internal": True, "usage": True}, 4),
])
def test_the_gravest_reason_wins(made, outcome, flags, code):
    results = [made.result("n1", **outcome)]
    assert code == exit_code(made.judged(results), results, **flags)


def test_an_unreachable_node_counts_as_a_finding(made):
    results = [made.result("n1", **ERROR)]
    verdicts = made.judged(results, failures={"n1": made.Failure("refused", "n1: refused")})
    assert exit_code(verdicts, results) == 1


def test_a_common_gap_is_a_finding_about_the_controller(made):
    results = [made.result(f"n{number}", **ERROR) for number in range(4)]
    assert exit_code(made.judged(results), results) == 1


def test_a_planned_item_without_an_outcome_is_not_measured(made):
    results = [made.result("n1", "test_a"), made.result("n1", "test_b")]
    assert exit_code(made.judged(results[:1], planned=made.plan(results)), results[:1]) == 6


def test_an_interrupted_run_says_so_when_read_again(made):
    results = [made.result("n1")]
    assert exit_code(made.judged(results, run=made.info(interrupted=True)), results) == 2


def test_no_verdicts_at_all_is_an_internal_error():
    assert (3, 2) == (exit_code(None, []), exit_code({}, [], interrupted=True))
