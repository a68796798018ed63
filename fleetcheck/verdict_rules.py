"""The rules of a verdict, in the order they apply, and what stands between a node and its certificate. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fleetcheck.finding import Finding
from fleetcheck.observed import Observed, coverage
from fleetcheck.records import ACTIONS, SEVERITIES, TIERS, Result
from fleetcheck.terms import Terms

Graded = TypeVar("Graded", Result, Finding)

WHICH = {
    "refused": "powered off or network", "no-route": "powered off or network",
    "connect-timeout": "powered off or network", "no-banner": "host hung",
    "name-resolution": "network", "jump": "network", "authentication": "authentication",
    "host-key-unknown": "host key", "host-key-changed": "host key",
}
"""What an operator looks at first, for each kind of failure that means nobody could log in."""

CONFIGURED_WRONGLY = frozenset({
    "authentication", "host-key-unknown", "host-key-changed", "name-resolution", "jump",
    "no-python", "become-refused", "wrong-machine",
})
"""Failure kinds whose cure is configuration, here or on the node; the others only say that the node is silent."""


@dataclass(frozen=True)
class Ruling:
    """What a rule decided; reason: in words, empty where the findings say it."""

    verdict: str
    action: str = "none"
    reason: str = ""


def rank(result: Result | Finding) -> tuple[int, int]:
    """Order of findings: severity first, then how strong an action it asks for."""
    return SEVERITIES.index(result.severity), ACTIONS.index(result.action)


def worst_first(results: Iterable[Graded]) -> list[Graded]:
    """Findings with the decisive one first; equals stay in the order they came."""
    return sorted(results, key=rank, reverse=True)


def out_of_service(node: Observed) -> Ruling | None:
    """A node in maintenance, spare, RMA or decommissioned is listed, not judged."""
    return None if node.in_service else Ruling("unknown", "none", f"not in service: {node.state}")


def fatal(node: Observed) -> Ruling | None:
    """A measured fatal finding decides, even when the node was lost afterwards."""
    return _worst(node, "fatal", "failed")


def unreachable(node: Observed) -> Ruling | None:
    """Nobody could log in; worse than a measured degradation, for the node may not be there at all."""
    if node.failure is None or not node.unreachable:
        return None
    return Ruling("unreachable", _cure(node.failure.kind), node.failure.message)


def degraded(node: Observed) -> Ruling | None:
    """The worst measured finding is a degraded one."""
    return _worst(node, "degraded", "degraded")


def unmeasured(node: Observed) -> Ruling | None:
    """A node that told nothing is neither healthy nor at fault."""
    if node.measured:
        return None
    if node.failure:
        return Ruling("unknown", _cure(node.failure.kind), node.failure.message)
    reason = next((each.message for each in node.results if each.outcome == "error"), "")
    return Ruling("unknown", "none", reason or _nothing(node))


def healthy(node: Observed) -> Ruling | None:
    """Nothing worse than recorded warnings."""
    findings = worst_first(node.findings())
    return Ruling("healthy", findings[0].action if findings else "none")


RULES: tuple[Callable[[Observed], Ruling | None], ...] = (
    out_of_service, fatal, unreachable, degraded, unmeasured, healthy,
)


def rule(node: Observed) -> Ruling:
    """The ruling of the first rule that applies; the last one always does."""
    return next(ruling for each in RULES if (ruling := each(node)))


def _worst(node: Observed, severity: str, verdict: str) -> Ruling | None:
    findings = worst_first(node.findings())
    return Ruling(verdict, findings[0].action) if findings and findings[0].severity == severity else None


def _cure(kind: str) -> str:
    return "fix-config" if kind in CONFIGURED_WRONGLY else "none"


def _nothing(node: Observed) -> str:
    if node.results:
        return "no selected check applies to this node"
    return "no outcome was recorded" if node.planned else "no check was selected for this node"


def obstacles(node: Observed, ruling: Ruling, terms: Terms) -> list[str]:
    """Why a node is not certified, gravest first; empty: it is.

    A certificate says that every required check was measured and passed, so a recorded warning withholds it though the
    verdict stays healthy; a tier that should not ask for a check leaves it out of its required ones.
    """
    if ruling.verdict != "healthy":
        return [ruling.reason or f"verdict {ruling.verdict}"]
    return [reason for each in OBSTACLES for reason in each(node, terms)]


def _two_names(node: Observed, terms: Terms) -> Sequence[str]:
    """Nobody knows which of the names is meant, so none is certified, nor isolated."""
    return [f"one machine answers as {node.name} and {' and '.join(node.doubled)}"] if node.doubled else []


def _common_cause(node: Observed, terms: Terms) -> Sequence[str]:
    first, *others = sorted(node.held_back) or [""]
    more = f" and {len(others)} more" if others else ""
    return [f"part of a common cause: {first}{more}"] if first else []


def _warnings(node: Observed, terms: Terms) -> Sequence[str]:
    failed = dict.fromkeys(each.check for each in node.findings())
    return [f"{check} failed" for check in failed if not terms.required or check in terms.required]


def _gaps(node: Observed, terms: Terms) -> Sequence[str]:
    lacking = [check for check in terms.required if check not in _settled(node)]
    if terms.required:
        return [f"required check not measured: {check}" for check in lacking]
    counts = coverage(node)
    gap = counts["planned"] - counts["measured"]
    return [f"{gap} of {counts['planned']} checks not measured"] if gap else []


def _settled(node: Observed) -> set[str]:
    """Checks that were measured, or do not apply, every time they were tried."""
    tried = {each.check for each in node.results}
    return tried - {each.check for each in node.results if each.outcome == "error"}


def _several(node: Observed, terms: Terms) -> Sequence[str]:
    return [f"{each.check} {'failed' if each.outcome == 'failed' else 'was not measured'} between several nodes"
            for each in node.named]


def _run(node: Observed, terms: Terms) -> Sequence[str]:
    if not terms.complete:
        return [f"the run is partial: {terms.partial}"]
    return [] if terms.tier in TIERS else [f"no tier {terms.tier!r}" if terms.tier else "no tier was asked for"]


def _left_out(node: Observed, terms: Terms) -> Sequence[str]:
    return terms.accepted.obstacles if terms.accepted else []


OBSTACLES: tuple[Callable[[Observed, Terms], Sequence[str]], ...] = (
    _two_names, _common_cause, _warnings, _gaps, _several, _left_out, _run,
)
