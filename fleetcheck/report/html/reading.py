"""The outcomes of a run for its page, read from plan and results a few fields at a time. Runs on the controller."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from fleetcheck.picked import Picked
from fleetcheck.records import Planned, planned_of, result_of
from fleetcheck.report.html.outcomes import Outcomes
from fleetcheck.run import Run

PLAN = dict.fromkeys(("check", "run", "stage", "node", "nodeid", "component", "severity", "action"), "VARCHAR")
FIRST = """
SELECT arg_min(lines, number) FROM (SELECT row_number() OVER () AS number, lines FROM lines) WHERE lines."check" IS NOT NULL
GROUP BY lines."check" ORDER BY min(number)"""
RESULTS = {**dict.fromkeys(("check", "node", "outcome", "severity", "description", "source"), "VARCHAR"),
           **dict.fromkeys(("message", "bound", "metrics"), "JSON")}
OUTCOME = """node, outcome, severity, description, CASE WHEN outcome = 'error' THEN message END,
CASE WHEN bound <> 'null' AND outcome IN ('passed', 'failed') THEN bound END AS judged,
CASE WHEN judged IS NOT NULL THEN source END, CASE WHEN judged IS NOT NULL THEN metrics END"""
KNOWN = 4096
"""Texts held that many nodes share."""


def outcomes(run: Run, verdicts: Mapping[str, Any]) -> Outcomes:
    """Everything the run's items said. Raises RunError naming a damaged line."""
    found = Outcomes(verdicts, first_planned(run.plan))
    results = Picked(run.results, RESULTS)
    read = lru_cache(KNOWN)(json.loads)
    for number, (check, node, outcome, severity, description, message, bound, source, metrics) in results.each(OUTCOME):
        if not node or check not in found.checks:  # about several nodes, or never planned: few, and read whole
            results.refused.append(number)
            continue
        found.count(check, node, outcome, severity, description, read(message) if message else "")
        if bound:
            found.limit(check, read(bound), source, read(metrics))
    for _, record in results.others():
        found.add(result_of(record))
    return found


def first_planned(plan: Path) -> Iterator[Planned]:
    """The first item of every check."""
    return (planned_of(record) for (record,) in Picked(plan, PLAN).ask(FIRST))
