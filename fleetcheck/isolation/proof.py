"""What proves a node repaired: certified by a later complete run of at least the tier that failed. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from fleetcheck.burnin.clock import words
from fleetcheck.isolation.age import Span
from fleetcheck.isolation.guards import too_old
from fleetcheck.records import TIERS

Verdicts = Mapping[str, Any]


def disproof(verdicts: Verdicts, node: str, tier: str, since: datetime.datetime, spans: Mapping[str, Span]) -> str:
    """Why this run does not prove the node; empty when it does. tier, since: of the failure; spans: the run's evidence of the node.

    All of the evidence must have been gathered after the failure, so that a replay, or a run that was resumed, proves nothing by
    what was seen before.
    """
    if verdicts["complete"] is not True:
        return f"the run is partial: {verdicts['partial'] or 'it never ended'}"
    told = verdicts["nodes"].get(node)
    if told is None:
        return "this run did not check it"
    if _rank(verdicts["tier"]) < _rank(tier):
        return f"it failed tier {tier}, and this run is of tier {verdicts['tier']}: prove it with --tier {tier}"
    if told["verdict"] != "healthy" or not told["certified"]:
        return f"it is {told['verdict']} and not certified: {told['reason'] or 'no reason is given'}"
    began = min((span.began for span in spans.values()), default=None)
    if began is None:
        return "its evidence is not there any more, so nobody can say when it was gathered"
    return f"its evidence was gathered {words((since - began).total_seconds())} before it was isolated" if began < since else ""


def fresh(spans: Mapping[str, Span], now: datetime.datetime, limit_seconds: float) -> str:
    """Why a proof is too old to act on; empty when it is not."""
    return too_old(max((span.ended for span in spans.values()), default=None), now, limit_seconds)


def _rank(tier: str) -> int:
    """-1 for none that we know: it proves nothing."""
    return TIERS.index(tier) if tier in TIERS else -1
