"""Rounds of disjoint pairs that run at the same time. Runs on the controller; pure.

``quick``: two or three rounds, across leaves and within them, so that each node meets different partners over different switches.
``full``: the circle method, in which every node meets every other: n - 1 rounds (n where n is odd).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from fleetcheck.collective.topology import Topology


@dataclass(frozen=True, slots=True)
class Planned:
    """A trial to be run. kind is one of trial.KINDS; why: what it is to find out."""

    kind: str
    members: tuple[str, ...]
    why: str = ""


Round = tuple[Planned, ...]
"""Trials without a common node: they run at the same time."""


def plan(topology: Topology, mode: str = "quick", rounds: int = 2) -> tuple[Round, ...]:
    """The rounds that are run whatever they find. mode: quick or full; rounds: how many of quick, 2 or 3. Raises ValueError on others."""
    if mode == "full":
        return tuple(_pairs(pairs, "every pair") for pairs in circle(topology.nodes))
    if mode != "quick" or rounds not in (2, 3):
        raise ValueError(f"pairs are 'quick' (in 2 or 3 rounds) or 'full', not {mode!r} in {rounds} rounds")
    if len(topology.nodes) < 2:
        return ()
    return turned([each for each in _quick(topology, rounds) if each])


def turned(rounds: Sequence[Round]) -> tuple[Round, ...]:
    """The same pairs, so ordered that within two rounds every node with two partners comes first once: the first keeps the port at
    which all ranks meet, and a port that nobody reaches is to show. Two rounds of pairs are paths and circles, walked here one way.

    >>> [pair.members for each in turned([_pairs([("a", "b"), ("c", "d")], ""), _pairs([("c", "b"), ("d", "a")], "")]) for pair in each]
    [('a', 'b'), ('c', 'd'), ('b', 'c'), ('d', 'a')]
    """
    at: dict[str, list[tuple[int, Planned]]] = {}
    for number, each in enumerate(rounds[:2]):
        for pair in each:
            for node in pair.members:
                at.setdefault(node, []).append((number, pair))
    walked: dict[tuple[int, Planned], Planned] = {}
    for start in sorted(at, key=lambda node: len(at[node])):
        node = start
        while (edge := next((edge for edge in at[node] if edge not in walked), None)) is not None:
            other = next(name for name in edge[1].members if name != node)
            walked[edge] = replace(edge[1], members=(node, other))
            node = other
    return tuple(tuple(walked.get((number, pair), pair) for pair in each) for number, each in enumerate(rounds))


def circle(nodes: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Every pair once, in as few rounds as there can be.

    >>> circle("abcd")
    [[('a', 'd'), ('b', 'c')], [('a', 'c'), ('d', 'b')], [('a', 'b'), ('c', 'd')]]
    """
    places = len(nodes) + len(nodes) % 2
    return [[(nodes[one], nodes[two]) for one, two in _matching(places, turn) if one < len(nodes) and two < len(nodes)]
            for turn in range(places - 1)]


def across(topology: Topology, turn: int = 0) -> list[tuple[str, str]]:
    """Disjoint pairs of different leaves, of the same rail where nodes have one; the partners of a leaf's nodes hang on many leaves."""
    pairs: list[tuple[str, str]] = []
    left: list[str] = []
    for rail in _by(topology.nodes, topology.rails.get):
        found, rest = _across(rail, topology, turn)
        pairs += found
        left += rest
    return pairs + _leftovers(left, topology)


def within(topology: Topology, turn: int = 0) -> list[tuple[str, str]]:
    """Disjoint pairs of the same leaf; those left over, at most one of a leaf, with each other."""
    pairs: list[tuple[str, str]] = []
    left: list[str] = []
    for leaf in _by(topology.nodes, topology.leaves.get):
        places = len(leaf) + len(leaf) % 2
        for one, two in _matching(places, turn):
            if two < len(leaf) and one < len(leaf):
                pairs.append((leaf[one], leaf[two]))
            else:
                left.append(leaf[min(one, two)])
    return pairs + list(zip(left[::2], left[1::2], strict=False))


def _quick(topology: Topology, rounds: int) -> list[Round]:
    if not topology.leaves:
        places = len(topology.nodes) + len(topology.nodes) % 2
        turns = sorted({0, places // 2 - 1, places - 2})
        every = [_turn(topology.nodes, places, turn) for turn in turns]
        return [_pairs(pairs, "any pair") for pairs in every[:rounds]]
    planned = [_pairs(across(topology), "across leaves"), _pairs(within(topology), "within a leaf")]
    return planned + [_pairs(across(topology, 1), "across leaves")] * (rounds - 2)


def _turn(nodes: Sequence[str], places: int, turn: int) -> list[tuple[str, str]]:
    return [(nodes[one], nodes[two]) for one, two in _matching(places, turn) if one < len(nodes) and two < len(nodes)]


def _across(nodes: Sequence[str], topology: Topology, turn: int) -> tuple[list[tuple[str, str]], list[str]]:
    """Slot by slot: the nodes of one slot are of different leaves, and each slot pairs the leaves in another way."""
    leaves = _by(nodes, topology.leaves.get)
    pairs: list[tuple[str, str]] = []
    left: list[str] = []
    for slot in range(max((len(leaf) for leaf in leaves), default=0)):
        row = [leaf[slot] for leaf in leaves if len(leaf) > slot]
        places = len(row) + len(row) % 2
        for one, two in _matching(places, slot + turn) if places else ():
            if two < len(row) and one < len(row):
                pairs.append((row[one], row[two]))
            else:
                left.append(row[min(one, two)])
    return pairs, left


def _leftovers(nodes: Sequence[str], topology: Topology) -> list[tuple[str, str]]:
    """Pairs among nodes, of different leaves as far as there are."""
    waiting = list(nodes)
    pairs = []
    while len(waiting) > 1:
        one = waiting.pop(0)
        other = next((at for at, node in enumerate(waiting) if topology.apart((one, node))), 0)
        pairs.append((one, waiting.pop(other)))
    return pairs


def _matching(places: int, turn: int) -> list[tuple[int, int]]:
    """One round of the circle method: place 0 stays, the others move one place a turn. places is even."""
    ring = places - 1
    order = [0] + [(at - turn) % ring + 1 for at in range(ring)]
    return [(order[at], order[places - 1 - at]) for at in range(places // 2)]


def _by(nodes: Iterable[str], key: Callable[[str], str | None]) -> list[list[str]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(key(node) or "", []).append(node)
    return list(found.values())


def _pairs(pairs: Iterable[tuple[str, str]], why: str) -> Round:
    return tuple(Planned("pair", pair, why) for pair in pairs)
