"""What keeps a run from taking nodes out of service. Each guard is a function of the case that says why not, or nothing. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fleetcheck.burnin.clock import words
from fleetcheck.inventory import Node
from fleetcheck.isolation.standing import Standing
from fleetcheck.isolation.terms import IsolationEntry
from fleetcheck.isolation.wish import Wish

AT_LEAST, PART_PERCENT = 2, 1
"""So many new isolations are believed of any fleet, and of a big one this part: more at once is a fault of ours, or of the site's."""
PASSED_SINCE = "passed-since"
"""The guard whose nodes are wanted no more."""
AHEAD = datetime.timedelta(minutes=5)
"""Clocks differ; evidence from further ahead is not from now."""


@dataclass(frozen=True)
class Case:
    """A judged run before it acts.

    nodes: of the inventory. measured: by node, when the finding it is to be isolated for was measured. proven: by node, the later
    run in which it passed. standings: by node; left out: the backend does not know it.
    """

    verdicts: Mapping[str, Any]
    nodes: tuple[Node, ...]
    now: datetime.datetime
    terms: IsolationEntry
    standings: Mapping[str, Standing]
    measured: Mapping[str, datetime.datetime | None] = field(default_factory=dict)
    proven: Mapping[str, str] = field(default_factory=dict)

    @property
    def serving(self) -> int:
        """Nodes in service that this run judged."""
        return sum(node["state"] == "in-service" for node in self.verdicts["nodes"].values())


Guard = Callable[[Case, Wish], str]


def partial(case: Case, wish: Wish) -> str:
    """A run that left something out has not seen what it would have seen."""
    return "" if case.verdicts["complete"] is True else f"the run is partial: {case.verdicts['partial'] or 'it never ended'}"


def unmeasured(case: Case, wish: Wish) -> str:
    """A node that nobody could look at has shown no fault."""
    if wish.verdict in ("unreachable", "unknown"):
        return f"its verdict is {wish.verdict}: nothing was measured that speaks against it"
    return "" if wish.checks else ("no finding of this run stands against it, only such as many nodes share or earlier runs left open, "
                                   "warnings or gaps")


def stale(case: Case, wish: Wish) -> str:
    """What was seen long ago may have been repaired since."""
    return too_old(case.measured.get(wish.node), case.now, case.terms.age_seconds)


def too_old(at: datetime.datetime | None, now: datetime.datetime, limit_seconds: float) -> str:
    """Why evidence of that time is no ground to act on; empty when it is."""
    if at is None:
        return "its evidence is not there any more, so nobody can say how old it is"
    if at > now + AHEAD:
        return f"its evidence is from {at:%Y-%m-%d %H:%M} UTC, which is yet to come: set the clock right"
    age = (now - at).total_seconds()
    return f"its evidence is {words(age)} old, more than {words(limit_seconds)} (max_age)" if age > limit_seconds else ""


def passed_since(case: Case, wish: Wish) -> str:
    """A node that passed later is not isolated for what was before."""
    run = case.proven.get(wish.node, "")
    return f"it was certified since, in run {run}" if run else ""


def unknown(case: Case, wish: Wish) -> str:
    """The backend must know the node, and we must understand how it stands."""
    standing = case.standings.get(wish.node)
    return standing.trouble if standing else "the backend does not know this node; is this its name there?"


GUARDS: tuple[tuple[str, Guard], ...] = (
    ("partial", partial), ("unmeasured", unmeasured), ("evidence", stale), (PASSED_SINCE, passed_since), ("unknown", unknown),
)
"""In the order in which they are asked."""


def refusal(case: Case, wish: Wish) -> tuple[str, str]:
    """The first guard that refuses, and why; empty when none does."""
    return next(((name, why) for name, guard in GUARDS if (why := guard(case, wish))), ("", ""))


def at_most(serving: int) -> int:
    """New isolations that one run may bring.

    >>> at_most(8), at_most(299), at_most(12500)
    (2, 2, 125)
    """
    return max(AT_LEAST, serving * PART_PERCENT // 100)


def too_many(new: int, serving: int) -> str:
    """Why so many new isolations are none; empty when they may be."""
    if new <= at_most(serving):
        return ""
    return (f"{new} of {serving} nodes would be taken out at once, more than {at_most(serving)} (the greater of {AT_LEAST} and "
            f"{PART_PERCENT} %): look for what they have in common; those you are sure of are yours to drain by hand")
