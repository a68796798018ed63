"""What a campaign tries next, from all that it has tried so far. Runs on the controller; pure.

Nothing is remembered but the trials, so that a campaign goes on after a break where it stood: planned pairs, then retests of
suspects, then groups of 4, 8, … and all, each that fails taken apart, and where it is asked for each node by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from fleetcheck.collective import rounds
from fleetcheck.collective.bisection import next_groups
from fleetcheck.collective.finding import Finding
from fleetcheck.collective.localise import Judged, findings, judged
from fleetcheck.collective.observation import Observation
from fleetcheck.collective.rounds import Planned, Round
from fleetcheck.collective.slow import Limit
from fleetcheck.collective.suspects import retests
from fleetcheck.collective.topology import Topology
from fleetcheck.collective.trial import ALONE, WITHOUT_NVLS, Trial
from fleetcheck.collective.wide import explained
from fleetcheck.collective.widening import widen

STEPS = ("pairs", "retests", "groups", "parts", "alone")
MOST_RETESTS = 8
"""Rounds of pairs after the planned ones."""
MOST_WIDE = 40
"""Rounds of groups and their parts."""
Members = frozenset[str]


@dataclass(frozen=True)
class Course:
    """The nodes that are tried with each other, how thoroughly, and by which limits a trial is slow: the limit of a metric, None: none.
    alone: at last each by itself too, with NVLink SHARP and without.
    """

    topology: Topology
    mode: str = "quick"
    limit: Callable[[str], Limit | None] = lambda metric: None
    alone: bool = False

    @cached_property
    def planned(self) -> tuple[Round, ...]:
        """The rounds that are run whatever they find."""
        return rounds.plan(self.topology, self.mode)

    def limits(self, trials: Iterable[Trial]) -> tuple[Limit, ...]:
        """Of all that these trials measured."""
        metrics = dict.fromkeys(value.metric for trial in trials for value in trial.values)
        return tuple(found for metric in metrics if (found := self.limit(metric)))


@dataclass(frozen=True)
class Step:
    """The next trials, which run at the same time. name: one of STEPS."""

    name: str
    round: Round


@dataclass(frozen=True)
class Standing:
    """What trials say so far. outcomes: the same trials, those that were slow marked so."""

    judged: Judged
    findings: tuple[Finding, ...]
    outcomes: tuple[Trial, ...]


def standing(course: Course, trials: Sequence[Trial]) -> Standing:
    """Trials judged by limits and peers."""
    told = judged(trials, course.topology, course.limits(trials))
    slow = {name for name, pace in told.paces.items() if pace.slow}
    marked = tuple(replace(trial, outcome="slow") if trial.outcome == "ok" and trial.id in slow else trial for trial in trials)
    return Standing(told, tuple(findings(told)), marked)


def next_step(course: Course, trials: Sequence[Trial], tried: Collection[Members] = (), lost: Collection[str] = ()) -> Step | None:
    """The next round; None when nothing is open. tried: members of what could not be run and is not to be tried again; lost: nodes
    that nobody can be tried with any more.
    """
    return _together(course, [trial for trial in trials if not trial.alone], tried, lost) or _alone(course, trials, tried, lost)


def _alone(course: Course, trials: Sequence[Trial], tried: Collection[Members], lost: Collection[str]) -> Step | None:
    """Each node by itself, also those at fault with others: whether that is NVLink SHARP shows here."""
    known = {(trial.kind, trial.members) for trial in trials}
    nodes = [node for node in course.topology.nodes if course.alone and node not in lost and frozenset((node,)) not in tried]
    for kind, why in ((ALONE, "its own NVLinks"), (WITHOUT_NVLS, "its own NVLinks, NVLink SHARP off")):
        open_ = tuple(Planned(kind, (node,), why) for node in nodes if (kind, (node,)) not in known)
        if open_:
            return Step("alone", open_)
    return None


def _together(course: Course, trials: Sequence[Trial], tried: Collection[Members], lost: Collection[str]) -> Step | None:
    own = [trial for trial in trials if set(trial.members) <= set(course.topology.nodes)]
    known = {*(frozenset(trial.members) for trial in own), *tried}
    for pairs in course.planned:
        open_ = tuple(pair for pair in _open(pairs, known) if not set(pair.members) & set(lost))
        if open_:
            return Step("pairs", open_)
    planned, course = len(course.planned), replace(course, topology=without(course.topology, lost))
    found = standing(course, own)
    if len({trial.round for trial in own if len(trial.members) == 2}) < planned + MOST_RETESTS:
        again = tuple(each for each in retests(found.judged, own, course.topology) if frozenset(each.members) not in set(tried))
        if again:
            return Step("retests", again)
    if len({trial.round for trial in own if len(trial.members) > 2}) >= MOST_WIDE:
        return None
    return _wider(course, found, known)


def fit(course: Course, found: Standing) -> tuple[str, ...]:
    """The nodes that pairs have cleared: nothing speaks against them, and of two with a bad link between them the first."""
    out: set[str] = set()
    for finding in found.findings:
        if finding.blames and finding.members:
            link = finding.kind == "link" or (finding.kind == "rail" and len(finding.members) == 2)
            out.update(finding.members[1:] if link else finding.members)
    well = {node for trial in found.outcomes if trial.outcome == "ok" and len(trial.members) == 2 for node in trial.members}
    return tuple(node for node in course.topology.nodes if node in well and node not in out)


def _wider(course: Course, found: Standing, known: Collection[Members]) -> Step | None:
    for groups in widen(fit(course, found)):
        open_ = _open(groups, known)
        if open_:
            return Step("groups", open_)
        parts = tuple(part for failed in _unexplained(groups, found) for part in _open(next_groups(failed.members, found.outcomes), known))
        if parts:
            return Step("parts", parts)
    return None


def without(topology: Topology, nodes: Collection[str]) -> Topology:
    """The same groups among fewer nodes."""
    return replace(topology, nodes=tuple(node for node in topology.nodes if node not in nodes)) if nodes else topology


def _open(planned: Round, known: Collection[Members]) -> Round:
    return tuple(each for each in planned if frozenset(each.members) not in known)


def _unexplained(groups: Sequence[Planned], found: Standing) -> list[Trial]:
    """The groups of these that failed though no culprit is in them."""
    wanted = {frozenset(group.members) for group in groups}
    return [trial for trial in found.outcomes if trial.outcome != "ok" and frozenset(trial.members) in wanted
            and not explained(Observation(trial.id, trial.members, True), found.findings)]
