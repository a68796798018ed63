"""How many nodes of a rack, a partition or an NVLink domain may be out of service at once. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fleetcheck.inventory import Node
from fleetcheck.isolation.standing import Standing
from fleetcheck.isolation.terms import FLEET, PARTITION, IsolationEntry, allowed

ABSENT = ("decommissioned", "spare")
"""States of nodes that are no capacity, in or out of service."""
Place = tuple[str, str]
"""What a budget is for: ("rack", "12")."""


@dataclass
class Room:
    """budget: as the inventory says it; members and out: nodes that count, and those of them that get no work."""

    budget: str
    members: int = 0
    out: int = 0

    @property
    def full(self) -> bool:
        """Whether no further node may go."""
        return self.out >= allowed(self.budget, self.members)

    def __str__(self) -> str:
        return f"{self.out} of {self.members} nodes are out, and {allowed(self.budget, self.members)} may be (budget {self.budget})"


class Budgets:
    """The room that is left; each node that goes takes some."""

    def __init__(self, terms: IsolationEntry, nodes: Sequence[Node], standings: Mapping[str, Standing]) -> None:
        self._rooms: dict[Place, Room] = {}
        self._places: dict[str, list[Place]] = defaultdict(list)
        for node in nodes:
            if node.state not in ABSENT:
                self._count(node, terms, standings.get(node.name))

    def _count(self, node: Node, terms: IsolationEntry, standing: Standing | None) -> None:
        for place in _places(node, terms, standing):
            room = self._rooms.setdefault(place, Room(terms.budgets[place[0]]))
            room.members += 1
            room.out += not node.in_service or (standing is not None and standing.out)
            self._places[node.name].append(place)

    def refuse(self, node: str) -> str:
        """Why there is no room for this node to go; empty when there is."""
        return next((f"{_called(place)}: {self._rooms[place]}" for place in self._places[node] if self._rooms[place].full), "")

    def take(self, node: str) -> None:
        """The node goes."""
        for place in self._places[node]:
            self._rooms[place].out += 1


def _places(node: Node, terms: IsolationEntry, standing: Standing | None) -> Iterator[Place]:
    for kind in terms.budgets:
        if kind == FLEET:
            yield kind, ""
        elif kind in node.labels:
            yield kind, node.labels[kind]
        elif kind == PARTITION and standing:
            yield from ((kind, name) for name in standing.partitions)


def _called(place: Place) -> str:
    return " ".join(filter(None, place))
