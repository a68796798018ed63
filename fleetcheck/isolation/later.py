"""Later runs of a fleet, which may have proven what an earlier one found wrong. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from fleetcheck.isolation.age import spans
from fleetcheck.isolation.proof import disproof
from fleetcheck.run import Run, RunError, runs

Verdicts = Mapping[str, Any]


def proven(run: Run, verdicts: Verdicts, measured: Mapping[str, datetime.datetime | None]) -> dict[str, str]:
    """By node, the later run in which it passed. measured: when the finding against each was."""
    found: dict[str, str] = {}
    for later in _after(run, verdicts):
        told = later.conclusions()
        since = {node: at for node, at in measured.items() if at and node not in found and told["nodes"].get(node, {}).get("certified")}
        evidence = spans(later, since)
        found |= {node: later.id for node, at in since.items() if not disproof(told, node, verdicts["tier"], at, evidence.get(node, {}))}
    return found


def _after(run: Run, verdicts: Verdicts) -> Iterator[Run]:
    """Complete runs of this fleet that began later, the newest first; one that cannot be read is passed over."""
    for later in runs(run.path.parent, after=verdicts["replay_of"] or run.id):
        if later.path == run.path:
            continue
        try:
            if later.facts.get("fleet") == verdicts["fleet"] and later.facts.get("complete") is True and later.conclusions()["nodes"]:
                yield later
        except (RunError, KeyError, AttributeError):
            continue
