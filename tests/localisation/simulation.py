"""One simulated campaign from the first round to the findings, and how right it was."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from simulated_fabric import Culprit, Fabric, answered, draw, fleet

from fleetcheck.collective import rounds
from fleetcheck.collective.localise import localise
from fleetcheck.collective.slow import Limit
from fleetcheck.collective.suspects import next_round

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


def campaign(of, culprits, chance, mode="quick", rails=4, hiccups=0.0) -> Told:
    """The planned rounds, then retests until nothing is open."""
    fabric = Fabric(of, culprits, chance, rails, hiccups)
    planned = rounds.plan(of, mode)
    trials = [fabric.run(each, turn) for turn, pairs in enumerate(planned, 1) for each in pairs]
    turn = len(planned)
    while turn < len(planned) + MOST_ROUNDS and (again := next_round(trials, of, LIMITS)):
        turn += 1
        trials += [fabric.run(each, turn) for each in again]
    findings = tuple(finding for finding in localise(trials, of, LIMITS) if finding.blames)
    return Told(culprits, findings, turn, len(planned), tuple(trials))


def simulate(size: int, count: int, seed: int, mode: str = "quick", rails: int = 4, hiccups: float = 0.0, leaf: int | None = None) -> Told:
    """A fleet of size nodes with count culprits, all drawn from the seed."""
    chance = random.Random(f"{size} {count} {seed} {mode} {rails}")
    of = fleet(size, leaf)
    return campaign(of, draw(of, count, chance, mode, rails), chance, mode, rails, hiccups)
