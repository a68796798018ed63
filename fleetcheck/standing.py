"""How a fleet stands by tier: of each node the newest run that counts for it, of the fleet its last complete run. Pure.

A complete run counts for every node it had. A partial one may find a fault, so it counts for the nodes it found failed or degraded; it
never shows one healthy, and is never the last complete run. A replay contacts nobody and counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from fleetcheck import nodeset

Verdicts = Mapping[str, Any]
FOUND = frozenset({"failed", "degraded"})
"""The verdicts that a partial run may give."""


@dataclass(frozen=True)
class Ran:
    """One judged run. verdicts: its verdicts.json; ended: when, in ISO form; whole: every node of the inventory was asked for."""

    verdicts: Verdicts
    ended: str = ""
    whole: bool = True

    @property
    def completes(self) -> bool:
        """Whether it may be called the fleet's last complete run."""
        return bool(self.verdicts["complete"]) and self.whole and not self.verdicts["replay_of"]

    @cached_property
    def silenced(self) -> frozenset[str]:
        """The nodes whose silence is one finding about the controller, the configuration, or a place that is down."""
        found = [each["nodes"] for each in self.verdicts["fleet_findings"] if each["kind"] in ("login", "place") and not each["checks"]]
        return frozenset(name for folded in found for name in nodeset.unfold(folded))


@dataclass
class Standing:
    """One tier of a fleet. nodes: name → the run that counts for it; last_complete: the newest run that completes; newest: of all runs;
    of_fleet: runs whose findings about the fleet still stand, the newest first."""

    nodes: dict[str, Ran] = field(default_factory=dict)
    last_complete: Ran | None = None
    newest: Ran | None = None
    of_fleet: list[Ran] = field(default_factory=list)

    def node(self, name: str) -> Mapping[str, Any]:
        """The node's entry in verdicts.json of the run that counts."""
        entry: Mapping[str, Any] = self.nodes[name].verdicts["nodes"][name]
        return entry


def stand(runs: Iterable[Ran]) -> Standing:
    """runs: of one fleet and tier, the newest first; read no further than the last complete one.

    A node that the last complete run did not have is no longer in the fleet, unless a later run asked for it.
    """
    standing = Standing()
    for run in runs:
        if run.verdicts["replay_of"]:
            continue
        standing.newest = standing.newest or run
        standing.of_fleet.append(run)
        for name in counted(run.verdicts):
            standing.nodes.setdefault(name, run)
        if run.completes:
            standing.last_complete = run
            break
    return standing


def counted(verdicts: Verdicts) -> list[str]:
    """The nodes that a run counts for."""
    return [name for name, node in verdicts["nodes"].items() if verdicts["complete"] or node["verdict"] in FOUND]
