"""What isolating or releasing would change, or has, as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fleetcheck.isolation.act import DO, ISOLATE, LEAVE, REFUSE, Act, Plan
from fleetcheck.isolation.audit import CONFIRMED
from fleetcheck.isolation.carry_out import Done
from fleetcheck.report.lines import said

WORDS = {ISOLATE: ("WOULD ISOLATE", "ISOLATED"), "release": ("WOULD RELEASE", "RELEASED")}
LONG = 600
Shown = Callable[[str, str, str], str]
"""Exactly what a backend would do, by kind, node and reason."""


def planned(plan: Plan, shown: Shown) -> Iterator[str]:
    """A dry run."""
    todo = plan.decided(DO)
    yield from _section(WORDS[plan.kind][0], [(act.node, act.why, shown(act.kind, act.node, act.reason)) for act in todo])
    yield from _rest(plan)
    yield "nothing was changed; --apply does it" if todo else f"nothing to {plan.kind}, nothing was changed"


def applied(plan: Plan, done: Sequence[Done]) -> Iterator[str]:
    """What became of it."""
    yield from _section(WORDS[plan.kind][1], [(each.act.node, each.act.why, f"read back: {each.why}") for each in done
                                              if each.step == CONFIRMED])
    yield from _section("NOT DONE", [(each.act.node, f"{each.step}: {each.why}", "") for each in done if each.step != CONFIRMED])
    yield from _rest(plan)
    if not done:
        yield f"nothing to {plan.kind}, nothing was changed"


def _rest(plan: Plan) -> Iterator[str]:
    yield from _section("REFUSED", [_reasoned(act) for act in plan.decided(REFUSE)])
    yield from _section("LEFT AS THEY ARE", [_reasoned(act) for act in plan.decided(LEAVE)])
    yield from plan.notes


def _reasoned(act: Act) -> tuple[str, str, str]:
    return act.node, f"{act.why}{f' [{act.guard}]' if act.guard else ''}", ""


def _section(title: str, rows: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    """A titled list."""
    if not rows:
        return
    yield f"{title}: {len(rows)} node{'s' if len(rows) > 1 else ''}"
    for node, why, exactly in rows:
        yield f"    {node}: {said(why, LONG)}"
        if exactly:
            yield f"        {said(exactly, LONG)}"
