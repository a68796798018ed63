"""A simulated fabric with known culprits: what trials would measure on it. Its noise is its own; it shares no code with the localiser.

Noise of a value: log-normal of 3 % for each trial, rail and direction, 1 % that stays with a node, and a tail: one value in 50 loses up to
4 % more. Reports of members (who is slowest, whose data were wrong) name an innocent one every second time.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import cache

from fleetcheck.collective import rounds
from fleetcheck.collective.rounds import Planned, Round
from fleetcheck.collective.topology import Topology, topology
from fleetcheck.collective.trial import Report, Trial, Value

NOISE = 0.03
SPEEDS = {"rail": 48.0, "whole": 370.0}
SYMPTOMS = ("slow", "slow", "wrong-data", "crash", "timeout")
LEAF = {16: 4, 64: 8, 256: 16, 1024: 32, 4096: 32}


@dataclass(frozen=True)
class Culprit:
    """kind: node, link, rail, leaf or uplinks; nodes it touches; factor of its speed where it is slow."""

    kind: str
    nodes: tuple[str, ...]
    symptom: str
    factor: float = 1.0
    rail: str = ""
    name: str = ""

    @property
    def answer(self):
        """What a finding that names it exactly says."""
        kind = "switch" if self.kind in ("leaf", "uplinks") else self.kind
        return kind, frozenset(self.nodes), self.symptom, self.rail, self.name, self.kind if kind == "switch" else ""


def answered(finding):
    """A finding in the same words."""
    scope = {"all": "leaf"}.get(finding.scope, finding.scope) if finding.kind == "switch" else ""
    return finding.kind, frozenset(finding.members), finding.symptom, finding.rail, finding.name, scope


@cache
def fleet(size: int, leaf: int | None = None) -> Topology:
    """Nodes n0000…, in leaves of so many; 0: without labels."""
    per = LEAF.get(size, 4) if leaf is None else leaf
    return topology({f"n{at:04d}": {"leaf": f"L{at // per:03d}", "rack": f"R{at // per:03d}"} if per else {} for at in range(size)})


@cache
def planned(size: int, leaf: int | None = None, mode: str = "quick") -> tuple[Round, ...]:
    """The rounds of such a fleet that are run whatever they find."""
    return rounds.plan(fleet(size, leaf), mode)


class Fabric:
    """A fleet with culprits. rails: how many each node has, 0 for one figure a pair."""

    def __init__(self, of: Topology, culprits: tuple[Culprit, ...], chance: random.Random, rails: int = 4, hiccups: float = 0.0) -> None:
        self.of = of
        self.culprits = culprits
        self.chance = chance
        self.rails = rails
        self.hiccups = hiccups
        self.own = {node: chance.gauss(1.0, 0.01) for node in of.nodes}
        self.by_node: dict[str, list[Culprit]] = {}
        for culprit in culprits:
            for node in culprit.nodes:
                self.by_node.setdefault(node, []).append(culprit)
        self.count = 0

    def run(self, planned: Planned, turn: int) -> Trial:
        """One trial, as it would be recorded."""
        self.count += 1
        members = planned.members
        hit = self._hit(members)
        name = f"t{turn}-{self.count}"
        for symptom in ("crash", "timeout"):
            if any(culprit.symptom == symptom for culprit in hit):
                return Trial(name, turn, planned.kind, members, symptom, (), self._reports(members))
        wrong = any(culprit.symptom == "wrong-data" for culprit in hit)
        return Trial(name, turn, planned.kind, members, "wrong-data" if wrong else "ok", self._values(members, hit),
                     self._reports(members) if wrong else ())

    def _hit(self, members: tuple[str, ...]) -> list[Culprit]:
        inside = set(members)
        near = {id(culprit): culprit for node in members for culprit in self.by_node.get(node, ())}
        return [culprit for culprit in near.values() if _passes(culprit, inside)]

    def _values(self, members: tuple[str, ...], hit: list[Culprit]) -> tuple[Value, ...]:
        slow = [culprit for culprit in hit if culprit.symptom == "slow"]
        base = min(self.own[node] for node in members) * (0.93 if self.of.apart(members) else 1.0)
        if self.chance.random() < self.hiccups:
            base *= 0.5
        if not self.rails:
            return (Value("busbw_gbytes_per_second", self._noisy(SPEEDS["whole"] * base * _slowest(slow, ""))),)
        return tuple(Value("rail_gbytes_per_second", self._noisy(SPEEDS["rail"] * base * _slowest(slow, rail)), rail=rail)
                     for rail in map(str, range(self.rails)))

    def _noisy(self, speed: float) -> float:
        shift = self.chance.gauss(0.0, NOISE)
        tail = 1.0 - 0.04 * self.chance.random() if self.chance.random() < 0.02 else 1.0
        return speed * math.exp(shift) * tail

    def _reports(self, members: tuple[str, ...]) -> tuple[Report, ...]:
        """As often as not of an innocent member; the first member is named most, as a log's loudest rank is."""
        return (Report(members[0] if self.chance.random() < 0.5 else self.chance.choice(members), arrived=False, wrong=True),)


def _passes(culprit: Culprit, inside: set[str]) -> bool:
    hit = inside.intersection(culprit.nodes)
    if culprit.kind == "link":
        return len(hit) == 2
    return bool(hit) and (culprit.kind != "uplinks" or len(hit) < len(inside))


def _slowest(slow: list[Culprit], rail: str) -> float:
    return min((culprit.factor for culprit in slow if culprit.rail in ("", rail)), default=1.0)


def draw(of: Topology, count: int, chance: random.Random, turns: tuple[Round, ...], rails: int = 4) -> tuple[Culprit, ...]:
    """So many culprits of mixed kinds, that touch fewer than half of the nodes and none of them the node of another.

    A link is one that the planned rounds (turns) use: what no trial went over is in nobody's evidence. Drawn again when the nodes of a leaf are all
    touched by culprits of their own: nobody can tell that from the leaf.
    """
    while True:
        drawn: list[Culprit] = []
        for _ in range(count):
            drawn.append(_one(of, chance, turns, rails))
        touched = [node for culprit in drawn for node in culprit.nodes]
        if len(set(touched)) == len(touched) and 2 * len(touched) < len(of.nodes) and not _whole_leaf(of, drawn):
            return tuple(drawn)


def _whole_leaf(of: Topology, drawn: list[Culprit]) -> bool:
    single = {node for culprit in drawn if culprit.kind not in ("leaf", "uplinks") for node in culprit.nodes}
    leaves = of.groups.get("leaf", {})
    return any(single.issuperset(of.members("leaf", leaf)) for leaf in {leaves[node] for node in single if node in leaves})


def _one(of: Topology, chance: random.Random, turns: tuple[Round, ...], rails: int) -> Culprit:
    usual = ("node", "node", "link", "rail" if rails else "node", "leaf", "uplinks") if of.leaves else ("node", "link", "rail" if rails else "node")
    kind = chance.choice(usual)
    factor = chance.uniform(0.15, 0.7)
    symptom = chance.choice(SYMPTOMS)
    if kind == "node":
        return Culprit(kind, (chance.choice(of.nodes),), symptom, factor)
    if kind == "rail":
        return Culprit(kind, (chance.choice(of.nodes),), "slow", factor, rail=str(chance.randrange(rails)))
    if kind == "link":
        return Culprit(kind, chance.choice([pair.members for turn in turns for pair in turn]), symptom, factor)
    name = chance.choice(sorted(set(of.leaves.values())))
    return Culprit(kind, of.members("leaf", name), chance.choice(("slow", "timeout")), factor, name=name)
