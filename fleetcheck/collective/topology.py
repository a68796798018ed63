"""Groups of nodes that share a switch or a rack, from their labels. Runs on the controller; pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

GROUP_LABELS = ("leaf", "rack", "nvlink_domain", "pod")
"""Labels whose groups can be at fault as a whole. Of two that divide the nodes alike the first is named."""
LEAST_GROUP = 3
"""A group of fewer nodes is never blamed as a whole: its nodes are as good an explanation."""


@dataclass(frozen=True)
class Topology:
    """nodes in their order; label → node → name of its group; rails: node → its rail label."""

    nodes: tuple[str, ...]
    groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rails: Mapping[str, str] = field(default_factory=dict)

    @property
    def leaves(self) -> Mapping[str, str]:
        """Node → leaf, or what divides the fleet where leaves are not labelled; empty: nothing does."""
        return self.groups.get("leaf") or next(iter(self.groups.values()), {})

    def members(self, label: str, name: str) -> tuple[str, ...]:
        """The nodes of one group, in order."""
        of = self.groups[label]
        return tuple(node for node in self.nodes if of.get(node) == name)

    def apart(self, nodes: Collection[str]) -> bool:
        """Whether the nodes hang on more than one leaf."""
        leaves = self.leaves
        if len(nodes) == 2:
            one, two = nodes
            return leaves.get(one) != leaves.get(two)
        return len({leaves.get(node, "") for node in nodes}) > 1


def topology(labels: Mapping[str, Mapping[str, str]], kinds: Sequence[str] = GROUP_LABELS) -> Topology:
    """The groups among nodes. labels: node → its labels. A label that all share, or that divides like an earlier one, says nothing new."""
    groups: dict[str, Mapping[str, str]] = {}
    seen: set[frozenset[frozenset[str]]] = set()
    for label in kinds:
        of = {node: has[label] for node, has in labels.items() if has.get(label)}
        parts: dict[str, set[str]] = {}
        for node, name in of.items():
            parts.setdefault(name, set()).add(node)
        division = frozenset(frozenset(part) for part in parts.values())
        if len(parts) > 1 and division not in seen:
            groups[label] = of
            seen.add(division)
    return Topology(tuple(labels), groups, {node: has["rail"] for node, has in labels.items() if has.get("rail")})
