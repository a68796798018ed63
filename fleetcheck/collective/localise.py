"""From recorded trials to culprits: nodes, links, rails, switches or nobody. Runs on the controller; pure.

The same trials and limits give the same findings, so a recorded campaign is judged again with other limits. How it is decided is
told in docs/localisation.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fleetcheck.collective.finding import Finding
from fleetcheck.collective.merge import merged
from fleetcheck.collective.observation import Observation, Plane, planes, rails
from fleetcheck.collective.plane import Judgement, judge
from fleetcheck.collective.slow import Limit, Pace, paces
from fleetcheck.collective.topology import Topology
from fleetcheck.collective.trial import Trial
from fleetcheck.collective.wide import judge_wide


@dataclass(frozen=True)
class Judged:
    """paces: trial id → pace; observed: the planes in which anything failed; planes: each of them judged."""

    paces: dict[str, Pace]
    observed: dict[Plane, list[Observation]]
    planes: dict[Plane, Judgement]


def judged(trials: Sequence[Trial], topology: Topology, limits: Sequence[Limit] = ()) -> Judged:
    """Every plane judged for itself; larger groups in the light of what pairs said."""
    pace = paces(trials, limits, topology)
    observed = planes(trials, pace)
    pairs = {plane: judge(plane, seen, topology) for plane, seen in observed.items()}
    for plane, seen in observed.items():
        judge_wide(pairs[plane], plane, seen, [finding for each in pairs.values() for finding in each.findings])
    return Judged(pace, observed, pairs)


def localise(trials: Sequence[Trial], topology: Topology, limits: Sequence[Limit] = ()) -> list[Finding]:
    """Who is at fault, the surest first, then what failed and blames nobody. Empty: nothing failed."""
    return findings(judged(trials, topology, limits))


def findings(told: Judged) -> list[Finding]:
    """What the planes say together."""
    return merged([finding for plane in told.planes.values() for finding in plane.findings], rails(told.paces))
