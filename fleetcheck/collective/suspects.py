"""The next round of retests: suspects with other partners known to be good, failed pairs again. Runs on the controller; pure.

The campaign runs `rounds.plan`, then what `retests` says until it is empty or the rounds are used up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fleetcheck.collective.localise import Judged, judged
from fleetcheck.collective.need import Need
from fleetcheck.collective.rounds import Planned, Round
from fleetcheck.collective.slow import Limit
from fleetcheck.collective.topology import Topology
from fleetcheck.collective.trial import Trial

MOST_PARTNERS = 12
"""A node that was tried with so many and is still undecided stays so."""


def next_round(trials: Sequence[Trial], topology: Topology, limits: Sequence[Limit] = ()) -> Round:
    """The retests that these trials ask for."""
    return retests(judged(trials, topology, limits), trials, topology)


def retests(told: Judged, trials: Sequence[Trial], topology: Topology) -> Round:
    """Disjoint pairs that decide most of what is open; empty when nothing is, or nothing can be decided for want of good partners."""
    well = _well(trials, told, topology)
    needs = [*_open(told), *_never_well(told, well, topology)]
    doubtful = set().union(*(plane.doubtful for plane in told.planes.values())) | {need.node for need in needs}
    solid = [node for node in topology.nodes if node in well and node not in doubtful]
    behind = [frozenset(finding.members) for plane in told.planes.values() for finding in plane.findings if finding.scope == "uplinks"]
    return tuple(_matched(needs, _Partners(solid, _met(trials), behind, topology)))


@dataclass(frozen=True)
class _Partners:
    """Whom a node can be tried with. solid: nodes that nothing speaks against; met: node → whom it was tried with; behind: bad uplinks."""

    solid: Sequence[str]
    met: dict[str, set[str]]
    behind: Sequence[frozenset[str]]
    topology: Topology

    def of(self, need: Need, allowed: Sequence[str], used: set[str]) -> str:
        """One that it has not met and reaches without bad uplinks, on its own leaf if there is one; empty: there is none."""
        met = self.met.get(need.node, set())
        if len(met) > MOST_PARTNERS:
            return ""
        free = [node for node in allowed if node in need.among and node not in used and node not in met and node != need.node
                and all((node in leaf) == (need.node in leaf) for leaf in self.behind)]
        near = self.topology.leaves.get(need.node)
        return next((node for node in free if self.topology.leaves.get(node) == near), free[0] if free else "")


def _open(told: Judged) -> list[Need]:
    """The needs of all planes, each node once: the same pair again goes before another partner."""
    needs = [need for plane in told.planes.values() for need in plane.needs]
    blamed = {node for plane in told.planes.values() for finding in plane.findings if finding.kind == "node" and not finding.rail
              for node in finding.members if finding.symptom in ("crash", "timeout")}
    return sorted((need for need in needs if need.node not in blamed and need.partner not in blamed), key=lambda need: not need.partner)


def _well(trials: Sequence[Trial], told: Judged, topology: Topology) -> set[str]:
    """Nodes of which a trial ended, with values where there are values at all: not measured is never well."""
    return {node for trial in trials if not trial.stopped and (not told.paces or trial.id in told.paces) for node in trial.members}


def _never_well(told: Judged, well: set[str], topology: Topology) -> Iterator[Need]:
    """Nodes that nothing was measured of, through their partners' fault or for being the odd one."""
    known = {node for plane in told.planes.values() for finding in plane.findings if finding.kind in ("node", "switch")
             for node in finding.members}
    for node in topology.nodes:
        if node not in well and node not in known:
            yield Need(node, among=frozenset(well), why="not measured yet")


def _met(trials: Iterable[Trial]) -> dict[str, set[str]]:
    met: dict[str, set[str]] = {}
    for trial in trials:
        if len(trial.members) == 2:
            for node in trial.members:
                met.setdefault(node, set()).update(trial.members)
    return met


def _matched(needs: Sequence[Need], partners: _Partners) -> Iterator[Planned]:
    """Solid partners first; for those left without one any that was well in the same matter; then each other, for a pass clears both."""
    used: set[str] = set()
    seeking = {need.node: None for need in needs}
    for allowed in (partners.solid, [node for node in partners.topology.nodes if node not in seeking], list(seeking)):
        for need in needs:
            if need.node in used or need.partner in used:
                continue
            partner = need.partner or partners.of(need, allowed, used)
            if partner:
                used |= {need.node, partner}
                yield Planned("pair", (need.node, partner), need.why)
