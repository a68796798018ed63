"""Whose load may start next: no more at once than allowed, no rack over its power budget. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from fleetcheck.burnin.power import Draws

MAX_LOADED = 32


@dataclass(frozen=True)
class Admission:
    """limit: nodes under load at once, None where only power budgets say how many."""

    limit: int | None
    draws: Draws

    def first(self, waiting: Sequence[str], loaded: Collection[str]) -> str:
        """The first of the waiting nodes that may start beside those that are loaded; empty when none may."""
        if self.limit is not None and len(loaded) >= self.limit:
            return ""
        return next((node for node in waiting if self.draws.fits(node, loaded)), "")

    def waves(self, nodes: Sequence[str]) -> list[list[str]]:
        """The nodes in groups that may be loaded at once, one group after the other."""
        left, found = list(nodes), []
        while left:
            wave: list[str] = []
            while node := self.first(left, wave):
                wave.append(node)
                left.remove(node)
            found.append(wave)
        return found


def admission(draws: Draws, max_loaded: int | None) -> Admission:
    """max_loaded: what was asked for; else 32, or what the power budgets allow where every node stands under one."""
    governed = bool(draws.racks) and all(rack in draws.budgets for rack in draws.racks.values())
    return Admission(max_loaded or (None if governed else MAX_LOADED), draws)
