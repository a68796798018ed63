"""One cause and what follows from it: twelve failing checks of one dead GPU are one finding with eleven consequences. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fleetcheck.finding import Finding
from fleetcheck.past import piece
from fleetcheck.records import SEVERITIES, Result

DEPENDENT = {
    "gpu": frozenset({"gpu", "gpu-memory", "nvlink", "fabric", "pcie", "training", "driver"}),
    "nic": frozenset({"nic", "rdma", "network"}),
    "nvme": frozenset({"disk", "storage", "filesystem"}),
    "sata": frozenset({"disk", "storage", "filesystem"}),
    "dimm": frozenset({"dram", "cpu"}),
}
"""By kind of a dead part, the components whose findings follow from it where they name no part themselves."""
LINKS = frozenset({"nvlink", "fabric"})
"""A finding about several parts of these follows from one of them: a link to a dead GPU is down at its other end too."""


def folded(findings: Sequence[Finding], results: Iterable[Result]) -> tuple[Finding, ...]:
    """The findings of a node, worst first, each told what it follows from, and each cause what follows from it."""
    causes: list[Finding] = []
    following: dict[int, str] = {}
    for number, each in enumerate(findings):
        cause = None if each.common_cause else next((one for one in causes if explains(one, each)), None)
        if cause:
            following[number] = cause.check
        elif not each.common_cause:
            causes.append(each)
    lost = [each.message for each in results if each.outcome == "error"] if any(map(_is_dead, causes)) else []
    told = (replace(each, follows=following.get(number, "")) for number, each in enumerate(findings))
    return tuple(each if each.follows or each.common_cause else _cause(each, findings, following, lost) for each in told)


def explains(cause: Finding, other: Finding) -> bool:
    """Whether the other follows: it is no graver and about the same parts, or names none and depends on a dead part of this kind."""
    if cause is other or SEVERITIES.index(other.severity) > SEVERITIES.index(cause.severity):
        return False
    mine, theirs = _places(cause), _places(other)
    if theirs:
        return theirs <= mine or (other.component in LINKS and bool(theirs & mine) and _is_dead(cause))
    kinds = {part.get("kind", "") for part in cause.parts}
    return _is_dead(cause) and any(other.component in DEPENDENT.get(kind, ()) for kind in kinds)


def _places(finding: Finding) -> set[str]:
    """Where its parts sit; two readers name one part differently, at the same place."""
    return {piece(part)[1] for part in finding.parts if part.get("kind") != "node"}


def _is_dead(finding: Finding) -> bool:
    return finding.severity == "fatal" and bool(_places(finding))


def _cause(finding: Finding, findings: Sequence[Finding], following: dict[int, str], lost: Sequence[str]) -> Finding:
    checks = dict.fromkeys(findings[number].check for number, check in following.items() if check == finding.check)
    labels = [part.get("label", "") for part in finding.parts if part.get("label")]
    named = re.compile("|".join(rf"(?<!\w){re.escape(label)}(?!\w)" for label in labels)) if labels and lost else None
    return replace(finding, consequences=tuple(checks), unmeasured=sum(bool(named.search(text)) for text in lost) if named else 0)
