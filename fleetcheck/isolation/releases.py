"""What a retest may give back: nodes that we hold and that it certified. Everybody else's drains stay. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fleetcheck.isolation.act import DO, LEAVE, RELEASE, Act, Plan
from fleetcheck.isolation.age import Span
from fleetcheck.isolation.mark import Mark
from fleetcheck.isolation.proof import disproof, fresh
from fleetcheck.isolation.standing import Standing
from fleetcheck.isolation.terms import IsolationEntry


@dataclass(frozen=True)
class Retest:
    """A judged run before nodes are released by it.

    standings: of all nodes of the inventory. spans: this run's evidence of those we hold. told: by node, the reason that we gave
    last, where our audit log knows it.
    """

    verdicts: Mapping[str, Any]
    now: datetime.datetime
    terms: IsolationEntry
    standings: Mapping[str, Standing]
    spans: Mapping[str, Mapping[str, Span]] = field(default_factory=dict)
    told: Mapping[str, str] = field(default_factory=dict)


def releases(retest: Retest) -> Plan:
    """The acts of ``fleetcheck release``."""
    held = {name: standing for name, standing in sorted(retest.standings.items()) if standing.held}
    return Plan(RELEASE, retest.verdicts["run"], tuple(_act(retest, name, standing) for name, standing in held.items()))


def _act(retest: Retest, node: str, standing: Standing) -> Act:
    mark = standing.mark
    if mark is None:
        return Act(RELEASE, node, LEAVE, f"not ours: {standing}", "foreign")
    act = Act(RELEASE, node, DO, f"certified for {retest.verdicts['tier']} after it failed {mark.tier} in run {mark.run}: {mark.why}",
              reason=standing.reason)
    guard, why = _refusal(retest, node, standing, mark)
    if guard == "unproven" and node not in retest.verdicts["nodes"]:
        return replace(act, decision=LEAVE, guard=guard, why=why)
    return act.refused(guard, why) if guard else act


def _refusal(retest: Retest, node: str, standing: Standing, mark: Mark) -> tuple[str, str]:
    spans, told = retest.spans.get(node, {}), retest.told.get(node, "")
    found = (
        ("unknown", standing.trouble or standing.unsettled),
        ("foreign", f"its reason was changed since we gave it; it stands at {standing.reason!r}: release it by hand"
                    if told and told.strip() != standing.reason.strip() else ""),
        ("unproven", disproof(retest.verdicts, node, mark.tier, mark.at, spans)),
        ("evidence", fresh(spans, retest.now, retest.terms.age_seconds)),
    )
    return next(((guard, why) for guard, why in found if why), ("", ""))
