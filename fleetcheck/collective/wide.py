"""Groups of more than two: who is in all that fail and in none that went well. Runs on the controller; pure.

A group that went well clears its members for groups that are not larger than twice its size. A failed group whose members hold a culprit
that pairs have named is explained.
"""

from __future__ import annotations

from collections.abc import Sequence

from fleetcheck.collective.finding import Finding, confidence
from fleetcheck.collective.observation import Observation, Plane
from fleetcheck.collective.plane import Judgement, ids, symptom

LEAST_GROUPS = 2
"""Different failed groups that a node must be in, where its companions in one of them are all cleared."""


def judge_wide(judged: Judgement, plane: Plane, observed: Sequence[Observation], known: Sequence[Finding]) -> None:
    """Adds what the larger groups of this plane say. known: findings of all planes from pairs."""
    wide = [each for each in observed if len(each.members) > 2]
    failed = [each for each in wide if each.failed and not explained(each, known)]
    if not failed:
        return
    if all(each.failed for each in observed):
        _nobody(judged, plane, failed, "all trials fail: configuration or fabric")
        return
    candidates = {each.trial: suspects(each, wide) for each in failed}
    culprits = sorted({next(iter(left)) for left in candidates.values() if len(left) == 1})
    for node in culprits:
        of = [each for each in failed if node in candidates[each.trial]]
        if len({each.members for each in of}) >= LEAST_GROUPS:
            words = f"{node} is in {len(of)} groups that fail; its companions are well without it"
            sure = confidence(len(of))
            judged.blame(Finding("node", (node,), symptom(plane, of), plane.rail, confidence=sure, trials=ids(of), message=words), of)
    blamed = {node for finding in judged.findings if finding.kind == "node" for node in finding.members}
    for each in failed:
        left = candidates[each.trial]
        if not left:
            _nobody(judged, plane, [each], f"{len(each.members)} nodes fail together and are well in parts")
        elif not left & blamed:
            _nobody(judged, plane, [each], f"one of {', '.join(sorted(left)[:4])}{' …' if len(left) > 4 else ''}")


def suspects(failed: Observation, wide: Sequence[Observation]) -> set[str]:
    """The members of a failed group that no group of at least half its size has cleared."""
    left = set(failed.members)
    for each in wide:
        if not each.failed and 2 * len(each.members) >= len(failed.members):
            left.difference_update(each.members)
    return left


def explained(failed: Observation, known: Sequence[Finding]) -> bool:
    """Whether a culprit that is known already must have made this group fail: a node in it, both ends of a link, one node of a group."""
    inside = set(failed.members)
    return any(_touches(finding, inside) for finding in known)


def _touches(finding: Finding, inside: set[str]) -> bool:
    hit = inside & set(finding.members)
    if finding.kind == "nobody":
        return False
    if finding.kind == "link":
        return len(hit) == 2
    if finding.scope == "uplinks":
        return bool(hit) and bool(inside - hit)
    return bool(hit)


def _nobody(judged: Judgement, plane: Plane, failed: Sequence[Observation], message: str) -> None:
    members = tuple(sorted({node for each in failed for node in each.members}))
    judged.blame(Finding("nobody", members, symptom(plane, failed), plane.rail, trials=ids(failed), message=message), failed)
