"""The observations of one plane by node and by pair. Runs on the controller; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fleetcheck.collective.observation import Observation


@dataclass(frozen=True)
class Ledger:
    """failures, passes: node → its pairs that failed, and that went well; pairs: all of them; wide: larger groups."""

    failures: dict[str, list[Observation]] = field(default_factory=dict)
    passes: dict[str, list[Observation]] = field(default_factory=dict)
    pairs: list[Observation] = field(default_factory=list)
    wide: list[Observation] = field(default_factory=list)

    @property
    def measured(self) -> set[str]:
        """Nodes that were in any pair."""
        return self.failures.keys() | self.passes.keys()

    def good(self, node: str) -> bool:
        """Whether the node was well with anybody."""
        return node in self.passes

    def of_pair(self, members: tuple[str, ...]) -> list[Observation]:
        """What was observed of exactly these two."""
        one, two = members
        seen = [*self.failures.get(one, ()), *self.passes.get(one, ())]
        return [each for each in seen if two in each.members]


def ledger(observed: Iterable[Observation]) -> Ledger:
    """The observations sorted in."""
    kept = Ledger()
    for each in observed:
        if len(each.members) > 2:
            kept.wide.append(each)
            continue
        kept.pairs.append(each)
        side = kept.failures if each.failed else kept.passes
        for node in each.members:
            side.setdefault(node, []).append(each)
    return kept


def partner(observation: Observation, node: str) -> str:
    """The other one of a pair."""
    one, two = observation.members
    return two if one == node else one
