"""The pairs that a run plans to try, as groups that checks are about. Runs on the controller; pure."""

from __future__ import annotations

from collections.abc import Sequence

from fleetcheck.collective import rounds
from fleetcheck.collective.topology import topology
from fleetcheck.groups import Group
from fleetcheck.inventory import Node

MOST = 20_000
"""Items of pairs; of a larger fleet that tries every pair, those of the quick rounds only (findings name any link)."""


def pair_groups(nodes: Sequence[Node], mode: str) -> list[Group]:
    """One group a planned pair, of nodes of one profile; in a fixed order."""
    kinds: dict[str, list[Node]] = {}
    for node in nodes:
        kinds.setdefault(node.profile, []).append(node)
    found = {pair for kind in kinds.values() for pair in _planned(kind, mode)}
    if len(found) > MOST:
        found = {pair for kind in kinds.values() for pair in _planned(kind, "quick")}
    by_name = {node.name: node for node in nodes}
    return [Group("pair", f"{one}+{two}", (by_name[one], by_name[two])) for one, two in sorted(found)]


def _planned(kind: Sequence[Node], mode: str) -> list[tuple[str, str]]:
    of = topology({node.name: node.labels for node in kind})
    return [(min(each.members), max(each.members)) for pairs in rounds.plan(of, mode) for each in pairs]
