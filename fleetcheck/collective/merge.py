"""Findings of single rails put together: all rails of a node are the node, one rail of it is the rail. Runs on the controller; pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from fleetcheck.collective.finding import Finding


def merged(findings: Sequence[Finding], rails: Collection[str]) -> list[Finding]:
    """findings: of all planes; rails: those measured. Slow findings of the same members on all rails become one without a rail."""
    out = [each for each in findings if not each.rail]
    alike: dict[tuple[object, ...], list[Finding]] = {}
    for each in findings:
        if each.rail:
            alike.setdefault((each.kind, each.members, each.scope), []).append(each)
    for same in alike.values():
        if len({each.rail for each in same}) == len(rails) or (len(rails) > 2 and len(same) > len(rails) / 2):
            out.append(_whole(same))
        else:
            out += [_of_rail(each) for each in same]
    return _by_rail(out)


def _whole(same: Sequence[Finding]) -> Finding:
    trials = tuple(dict.fromkeys(trial for each in same for trial in each.trials))
    strongest = max(same, key=lambda each: each.confidence)
    return dataclasses.replace(strongest, rail="", trials=trials, message=f"{strongest.message}; on {len(same)} rails alike")


def _of_rail(finding: Finding) -> Finding:
    """A rail of a node, a link or a group. Nobody on one rail while other rails are well: that rail everywhere, if all its trials fail."""
    if finding.kind == "nobody":
        everywhere = finding.message.startswith("all trials fail")
        return dataclasses.replace(finding, kind="rail", members=(), confidence=_sure(finding)) if everywhere else finding
    return dataclasses.replace(finding, kind="rail", message=f"rail {finding.rail} of {finding.message}")


def _sure(finding: Finding) -> float:
    return (len(finding.trials) + 1) / (len(finding.trials) + 2)


def _by_rail(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda each: (each.kind == "nobody", -each.confidence, each.members, each.rail))
