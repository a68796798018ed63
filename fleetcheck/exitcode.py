"""The exit code of a run, for cron and CI. Pure.

0 everything selected was measured and passed (or does not apply) · 1 a finding, of any severity, or an unreachable
node · 2 interrupted · 3 fleetcheck itself failed · 4 usage · 6 no finding, but something selected was not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from fleetcheck.records import Result

PASSED = 0
FINDING = 1
INTERRUPTED = 2
INTERNAL = 3
USAGE = 4
UNMEASURED = 6


def exit_code(
    verdicts: Mapping[str, Any] | None, results: Iterable[Result], usage: bool = False, internal: bool = False,
    interrupted: bool = False,
) -> int:
    """The first of 4, 3, 2, 1, 6, 0 that applies. A warning is a finding too; a node out of service is none."""
    if usage:
        return USAGE
    if internal:
        return INTERNAL
    if interrupted or (verdicts and verdicts["interrupted"]):
        return INTERRUPTED
    if not verdicts:
        return INTERNAL
    outcomes = {result.outcome for result in results}
    if "failed" in outcomes or verdicts["fleet_findings"] or _bad(verdicts):
        return FINDING
    return UNMEASURED if "error" in outcomes or verdicts["missing"] else PASSED


def _bad(verdicts: Mapping[str, Any]) -> bool:
    """Whether some node is unreachable, or was found at fault by its peers and history."""
    return any(node["verdict"] in ("unreachable", "degraded", "failed") for node in verdicts["nodes"].values())
