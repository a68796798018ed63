"""One simulated campaign from the first round to the findings, and how right it was."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from simulated_fabric import Culprit, Fabric, answered, draw, fleet, planned

from fleetcheck.collective.localise import findings, judged
from fleetcheck.collective.slow import Limit
from fleetcheck.collective.suspects import retests

LIMITS = (Limit("rail_gbytes_per_second", low=20.0), Limit("busbw_gbytes_per_second", low=150.0))
MOST_ROUNDS = 8


@dataclass(frozen=True)
class Told:
    """One campaign's end: the culprits, the findings that blame, rounds run."""

    culprits: tuple[Culprit, ...]
    findings: tuple = ()
    rounds: int = 0
    planned: int = 0
    trials: tuple = field(default=(), repr=False)

    @property
    def exact(self) -> bool:
        """Whether exactly the culprits are named, each with its symptom."""
        return {culprit.answer for culprit in self.culprits} == {answered(finding) for finding in self.findings}


def campaign(of, culprits, chance, turns, rails=4, hiccups=0.0) -> Told:
    """The planned rounds, then retests until nothing is open."""
    fabric = Fabric(of, culprits, chance, rails, hiccups)
    trials = [fabric.run(each, turn) for turn, pairs in enumerate(turns, 1) for each in pairs]
    turn = len(turns)
    told = judged(trials, of, LIMITS)
    while turn < len(turns) + MOST_ROUNDS and (again := retests(told, trials, of)):
        turn += 1
        trials += [fabric.run(each, turn) for each in again]
        told = judged(trials, of, LIMITS)
    blaming = tuple(finding for finding in findings(told) if finding.blames)
    return Told(culprits, blaming, turn, len(turns), tuple(trials))


def simulate(size: int, count: int, seed: int, mode: str = "quick", rails: int = 4, hiccups: float = 0.0, leaf: int | None = None) -> Told:
    """A fleet of size nodes with count culprits, all drawn from the seed."""
    chance = random.Random(f"{size} {count} {seed} {mode} {rails}")
    of, turns = fleet(size, leaf), planned(size, leaf, mode)
    return campaign(of, draw(of, count, chance, turns, rails), chance, turns, rails, hiccups)
