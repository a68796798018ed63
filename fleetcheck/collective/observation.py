"""Trials as observations of one kind of trouble each: a plane. Runs on the controller; pure.

Stopping, wrong data and slowness on each rail are judged apart. What a trial did not live to show is no observation: a pair that
crashed was neither fast nor right, nor slow nor wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fleetcheck.collective.slow import Pace
from fleetcheck.collective.trial import Trial

TROUBLES = ("stopped", "wrong-data", "slow")


class Plane(NamedTuple):
    """trouble: stopped (crash or timeout), wrong-data or slow; rail: of slow, "" for values of no rail."""

    trouble: str
    rail: str = ""


class Observation(NamedTuple):
    """Whether a trial showed the trouble. words: outcome where it stopped, what was slow."""

    trial: str
    members: tuple[str, ...]
    failed: bool
    words: tuple[str, ...] = ()


def planes(trials: Sequence[Trial], paces: Mapping[str, Pace]) -> dict[Plane, list[Observation]]:
    """The planes in which something failed, each with all that was observed in it."""
    found = {}
    if any(trial.stopped for trial in trials):
        found[Plane("stopped")] = [_stopped(trial) for trial in trials]
    if any(trial.outcome == "wrong-data" for trial in trials):
        found[Plane("wrong-data")] = [_wrong(trial) for trial in trials if not trial.stopped and trial.outcome != "slow"]
    for rail in sorted({rail for pace in paces.values() for rail in pace.slow}):
        observed = list(_slow(trials, paces, rail))
        if any(each.failed for each in observed):
            found[Plane("slow", rail)] = observed
    return found


def rails(paces: Mapping[str, Pace]) -> frozenset[str]:
    """The rails that were measured at all."""
    return frozenset().union(*{pace.rails for pace in paces.values()}) - {""}


def _stopped(trial: Trial) -> Observation:
    return Observation(trial.id, trial.members, trial.stopped, (trial.outcome,) if trial.stopped else ())


def _wrong(trial: Trial) -> Observation:
    accused = tuple(f"wrong data of {report.node}" for report in trial.reports if report.wrong)
    return Observation(trial.id, trial.members, trial.outcome == "wrong-data", accused)


def _slow(trials: Iterable[Trial], paces: Mapping[str, Pace], rail: str) -> Iterable[Observation]:
    for trial in trials:
        pace = paces.get(trial.id)
        if pace is None or rail not in pace.rails:
            continue
        if rail in pace.slow:
            if rail or set(pace.slow) == {""}:
                yield Observation(trial.id, trial.members, True, pace.slow[rail])
        elif rail or not pace.slow:
            yield Observation(trial.id, trial.members, False)
