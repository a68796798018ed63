"""What ``make steady`` reports of its runs, and the bound that they prove."""

import pytest
from steady import Steady, upper


@pytest.mark.parametrize(("count", "of", "most"), [(0, 300, 0.00994), (0, 3000, 0.00100), (1, 300, 0.01572), (3, 304, 0.02530), (5, 5, 1.0), (0, 0, 1.0)])
def test_the_bound_is_that_of_the_binomial_distribution(count, of, most):
    assert most == pytest.approx(upper(count, of), rel=2e-3)


def test_verdicts_findings_and_gaps_are_counted_apart():
    steady = Steady()
    told = {"check": "test_cool", "node": "n1", "message": "n1: no window"}
    finding = {"check": "test_fast", "severity": "degraded", "message": "cpu: slow"}
    for verdict, outcome, findings in (("healthy", "passed", []), ("healthy", "error", []), ("degraded", "passed", [finding])):
        steady.add({"nodes": {"n1": {"verdict": verdict, "findings": findings}}}, [{**told, "outcome": outcome}])
    lines = steady.lines()
    assert "3 node-runs of healthy nodes: 2 healthy, 1 degraded" == lines[0] and lines[1].startswith("blamed: 1; at 95% confidence fewer than 86.46%")
    assert "outcomes of checks: 2 of 3 as most often on the same node (66.667%)" == lines[2]
    assert ["finding, 1 times: test_fast (degraded): n1: cpu: slow", "not measured, 1 times: test_cool: n1: n1: no window"] == lines[3:]
