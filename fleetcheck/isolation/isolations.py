"""What a judged run may do to the nodes it wants out of service: acts, and for every other node why not. Pure."""

from __future__ import annotations

from dataclasses import replace

from fleetcheck.isolation.act import DO, ISOLATE, LEAVE, Act, Plan
from fleetcheck.isolation.budgets import Budgets
from fleetcheck.isolation.guards import PASSED_SINCE, Case, refusal, too_many
from fleetcheck.isolation.mark import Mark
from fleetcheck.isolation.standing import Standing
from fleetcheck.isolation.wish import Wish, wanted


def isolations(case: Case) -> Plan:
    """The acts of ``fleetcheck isolate``. Raises RunError on verdicts that are none."""
    wishes = wanted(case.verdicts)
    acts = [_act(case, wish) for wish in wishes]
    return Plan(ISOLATE, case.verdicts["run"], tuple(_within_budgets(case, _believed(case, acts))), _notes(case))


def _act(case: Case, wish: Wish) -> Act:
    """One wish by itself."""
    guard, why = refusal(case, wish)
    act = Act(ISOLATE, wish.node, DO, wish.why, reason=str(Mark(case.verdicts["run"], case.verdicts["tier"], case.now, wish.why)))
    if guard:
        return act.refused(guard, why)
    standing = case.standings[wish.node]
    return replace(act, decision=LEAVE, why=held(standing)) if standing.held else act


def held(standing: Standing) -> str:
    """Why a node that is held is left as it is."""
    ours = standing.mark
    return f"isolated already, by run {ours.run} at {ours.at:%Y-%m-%d %H:%M} UTC" if ours else f"out of service already: {standing}"


def _believed(case: Case, acts: list[Act]) -> list[Act]:
    """All of them, or none when they are too many to be true. Those refused already count too, unless they have passed since."""
    why = too_many(sum(act.decision != LEAVE and act.guard != PASSED_SINCE for act in acts), case.serving)
    return [act.refused("number", why) if why and act.decision == DO else act for act in acts]


def _within_budgets(case: Case, acts: list[Act]) -> list[Act]:
    """The gravest first, as far as there is room."""
    budgets, kept = Budgets(case.terms, case.nodes, case.standings), []
    for act in acts:
        takes = act.decision == DO and not case.standings[act.node].away
        why = budgets.refuse(act.node) if takes else ""
        if takes and not why:
            budgets.take(act.node)
        kept.append(act.refused("budget", why) if why else act)
    return kept


def _notes(case: Case) -> tuple[str, ...]:
    none = "no budget is set; isolation: {budgets: {rack: 2}} in the inventory bounds how many nodes may be out at once"
    return () if case.terms.budgets else (none,)
