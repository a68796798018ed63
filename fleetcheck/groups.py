"""Checks of several nodes at once: nodes that share a label, a profile or the fleet, and a fact of each. Runs on the controller.

``@pytest.mark.check(…, per="nvlink_domain")`` makes one item of each value of the label among the selected nodes; it asks for
``group`` and for facts by their name with ``_by_node``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from fleetcheck import recording
from fleetcheck.absent import NotMeasured
from fleetcheck.inventory import Node
from fleetcheck.recording import Offender, Part

BY_NODE = "_by_node"
"""What a fact's fixture is called where it holds the fact of every node of the group."""
LEAST_MAJORITY = 3
"""Fewer nodes that agree cannot say who is wrong."""


@dataclass(frozen=True)
class Group:
    """Nodes that belong together. label: such as nvlink_domain; name: its value; ``fleet`` and ``profile`` are labels too."""

    label: str
    name: str
    nodes: tuple[Node, ...]


class ByNode:
    """One fact of every node of a group, read while iterating, so that one node's evidence is in memory at a time."""

    def __init__(self, group: Group, ask: Callable[[Node], Any]) -> None:
        self.group = group
        self._ask = ask

    def __iter__(self) -> Iterator[tuple[Node, Any]]:
        """Nodes with their fact; a node that told nothing is left to its own checks, one to which the fact does not apply is left out.

        Raises NotMeasured when fewer than two told, pytest's skip when it applies to fewer.
        """
        told, applies, why = 0, len(self.group.nodes), ""
        for node in self.group.nodes:
            try:
                fact = self._ask(node)
            except NotMeasured:
                continue
            except pytest.skip.Exception as inapplicable:
                applies, why = applies - 1, str(inapplicable)
                continue
            told += 1
            yield node, fact
        running = recording.current()
        if running is not None:
            running.coverage.append(f"{told} of {applies} nodes")
        if applies < 2:
            pytest.skip(f"{self.group.label} {self.group.name}: it applies to {applies} of {len(self.group.nodes)} nodes: {why}")
        if told < 2:
            raise NotMeasured(f"{self.group.label} {self.group.name}: {told} of {applies} nodes told it: nothing to compare")

    def odd(self, what: str, value: Callable[[Any], Hashable]) -> list[Offender]:
        """The nodes whose value is not that of the others; where no majority says who is wrong, one finding naming nobody.

        what: the value in words. A fact whose value was not measured leaves its node out.
        """
        values: list[tuple[Node, Hashable]] = []
        for node, fact in self:
            try:
                values.append((node, value(fact)))
            except NotMeasured:
                continue
        if len(values) < 2:
            raise NotMeasured(f"{what}: measured on {len(values)} of {len(self.group.nodes)} nodes")
        return blamed(odd_among(what, values))


def blamed(offenders: list[Offender]) -> list[Offender]:
    """The same, noted with the running check."""
    running = recording.current()
    if running is not None:
        running.offenders.extend(offenders)
    return offenders


def odd_among(what: str, values: Sequence[tuple[Node, Hashable]]) -> list[Offender]:
    """The nodes whose value is not that of the majority; without one, a single finding that names nobody."""
    counts = Counter(said for _, said in values).most_common()
    usual, agreeing = counts[0]
    if len(counts) == 1:
        return []
    if agreeing < LEAST_MAJORITY or 2 * agreeing <= len(values):
        shares = ", ".join(f"{said} on {number}" for said, number in counts[:4])
        return [Offender(None, f"{what} differs and no majority says who is wrong: {shares}")]
    return [Offender(node_part(node), f"{node.name}: {what} is {said}, on {agreeing} of {len(values)} nodes it is {usual}")
            for node, said in values if said != usual]


def node_part(node: Node) -> Part:
    """A node as the part that a check of several nodes names."""
    return Part("node", node.name, slot=node.labels.get("slot", ""), serial=node.serials.get("chassis", ""))


def groups(per: str, nodes: Sequence[Node], fleet: str) -> list[Group]:
    """The groups of nodes by a label, in order of their names; nodes without it, and groups of one, are in none."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        name = {"fleet": fleet, "profile": node.profile}.get(per) or node.labels.get(per, "")
        if name:
            found.setdefault(name, []).append(node)
    return [Group(per, name, tuple(members)) for name, members in sorted(found.items()) if len(members) > 1]
