"""Whatever a run brings, the verdicts account for all of it. Seeded, so that a failure repeats."""

import random
from collections import Counter
from dataclasses import replace

import pytest

from fleetcheck.exitcode import exit_code
from fleetcheck.records import ACTIONS, OUTCOMES, SEVERITIES, UNREACHABLE

KINDS = [*sorted(UNREACHABLE), "no-python", "deadline", "truncated"]


def some_run(made, seed):
    """A fleet with faults, gaps, silent nodes and nodes out of service, sometimes with items lost or doubled."""
    dice = random.Random(seed)
    states = dice.choices(["in-service", "maintenance", "spare"], [9, 1, 1], k=dice.randint(1, 40))
    nodes = [made.node(f"n{number:02}", state=state) for number, state in enumerate(states)]
    results = [made.result(each.name, f"test_{check}", dice.choices(OUTCOMES, [9, 1, 1, 1])[0], dice.choice(SEVERITIES),
                           dice.choice(ACTIONS), message=f"{each.name}: value {dice.randint(0, 3)}")
               for each in nodes if each.in_service for check in range(dice.randint(1, 12))]
    failures = {each.name: made.Failure(dice.choice(KINDS), "why") for each in nodes
                if each.in_service and dice.random() < 0.2}
    silent = [replace(each, outcome="error") if each.node in failures and dice.random() < 0.9 else each
              for each in results]
    planned = made.plan(silent)
    kept = [each for each in silent if dice.random() > 0.01] if seed % 3 == 0 else silent
    return nodes, planned, kept + (kept[:1] if seed % 5 == 0 else []), failures


@pytest.mark.parametrize("seed", range(120))
def test_nothing_is_lost_and_the_counts_add_up(made, seed):
    nodes, planned, results, failures = some_run(made, seed)
    verdicts = made.judged(results, nodes, failures, planned=planned)
    counts = verdicts["counts"]
    distinct = {each.nodeid for each in results}
    assert [each.name for each in nodes] == list(verdicts["nodes"])
    assert len(planned) == len(distinct) + len(verdicts["missing"])
    assert len(results) == sum(counts["items"][outcome] for outcome in OUTCOMES)
    assert verdicts["complete"] == (bool(planned) and len(distinct) == len(results) == len(planned))
    assert counts["nodes"]["in-service"] == sum(
        counts["nodes"][word] for word in ("failed", "unreachable", "degraded", "unknown", "healthy"))
    findings = sum(len(each["findings"]) for each in verdicts["nodes"].values())
    assert findings == Counter(each.outcome for each in results)["failed"]


@pytest.mark.parametrize("seed", range(120))
def test_no_certificate_without_every_check_measured_and_no_isolation_without_a_fatal_finding(made, seed):
    nodes, planned, results, failures = some_run(made, seed)
    verdicts = made.judged(results, nodes, failures, planned=planned)
    for name, said in verdicts["nodes"].items():
        own = [each for each in results if each.node == name]
        if said["certified"]:
            assert verdicts["complete"]
            assert said["coverage"]["planned"] == said["coverage"]["measured"] > 0
            assert not [each for each in own if each.outcome == "error"]
        if said["verdict"] == "failed":
            assert [each for each in own if each.outcome == "failed" and each.severity == "fatal"]
    assert not verdicts["isolate"] or exit_code(verdicts, results) == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_further_failure_never_certifies_a_node(made, seed):
    nodes, planned, results, failures = some_run(made, seed)
    worse = [replace(each, outcome="error") if number % 3 == 0 else each for number, each in enumerate(results)]
    before = made.judged(results, nodes, failures, planned=planned)["nodes"]
    after = made.judged(worse, nodes, failures, planned=planned)["nodes"]
    touched = {each.node for number, each in enumerate(results) if number % 3 == 0 and each.outcome != "skipped"}
    assert not [name for name in touched if after[name]["certified"]]
    assert set(before) == set(after)
