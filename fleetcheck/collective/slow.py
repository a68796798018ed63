"""Which trials were slow, and on which rail: values against limits and against the other trials alike. Runs on the controller; pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fleetcheck.collective.topology import Topology
from fleetcheck.collective.trial import Trial, Value

SPREAD = 5 * 1.4826
"""Distance from the median in median absolute deviations: five standard deviations of normal noise."""
LEAST_PEERS = 8


@dataclass(frozen=True, slots=True)
class Limit:
    """What one metric may be. low, high: the profile's bounds, None where it has none; effect: the least share of the peers' median.

    least: nearer than this to their median, in the metric's own unit, they are never slow either.
    low_wide: the same as low, for more than two members.
    worse: which way is slower, ``low`` for bandwidth, ``high`` for latency. Values nearer to their peers than effect are never slow for
    being unlike them, however much alike these are.
    """

    metric: str
    low: float | None = None
    high: float | None = None
    worse: str = "low"
    effect: float = 0.10
    least: float = 0.0
    low_wide: float | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast one trial was. rails: those measured, "" for values of no rail; slow: of the slow ones, what was measured against what."""

    rails: frozenset[str] = frozenset()
    slow: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


Kind = tuple[str, int, bool]
"""What makes values comparable: metric, number of members, whether leaves are crossed."""


def paces(trials: Iterable[Trial], limits: Sequence[Limit], topology: Topology) -> dict[str, Pace]:
    """Trial id → its pace, for trials with values that have a limit; where a trial is slow by its outcome, for those without values too."""
    by_metric = {limit.metric: limit for limit in limits}
    kept = [(trial, topology.apart(trial.members)) for trial in trials if not trial.stopped]
    alike: dict[Kind, list[float]] = {}
    for trial, apart in kept:
        for value in trial.values:
            if value.metric in by_metric:
                alike.setdefault((value.metric, len(trial.members), apart), []).append(value.number)
    bounds = _bounds(alike, by_metric)
    told = any(trial.outcome == "slow" for trial, _ in kept)
    return {trial.id: _pace(trial, apart, by_metric, bounds) for trial, apart in kept
            if told or any(value.metric in by_metric for value in trial.values)}


def bound(numbers: Sequence[float], limit: Limit) -> float | None:
    """The figure beyond which one of these values is slow, or None: neither a limit nor enough peers."""
    kind = (limit.metric, 2, False)
    return _bounds({kind: numbers}, {limit.metric: limit})[kind]


def _bounds(alike: Mapping[Kind, Sequence[float]], limits: Mapping[str, Limit]) -> dict[Kind, float | None]:
    """For each kind of values. The scatter is that of all kinds of a metric together, as a share of their medians."""
    medians: dict[Kind, float] = {}
    scatter: dict[str, list[float]] = {}
    for kind, numbers in alike.items():
        if len(numbers) >= LEAST_PEERS:
            near = _near_the_best(numbers, limits[kind[0]].worse)
            medians[kind] = statistics.median(near)
            scatter.setdefault(kind[0], []).extend(abs(number / medians[kind] - 1.0) for number in near)
    spread = {metric: SPREAD * statistics.median(shares) for metric, shares in scatter.items()}
    return {kind: _bound(_of(limits[kind[0]], kind[1]), medians.get(kind), spread.get(kind[0], 0.0)) for kind in alike}


def _of(limit: Limit, members: int) -> Limit:
    """The limit for so many nodes."""
    return replace(limit, low=limit.low_wide) if members > 2 and limit.low_wide is not None else limit


def _near_the_best(numbers: Sequence[float], worse: str) -> list[float]:
    """The peers: where many values are slow the median of all would be slow too. Not the very best, which may be a mistake."""
    ordered = sorted(numbers, reverse=worse == "high")
    best = ordered[int(0.97 * (len(ordered) - 1))]
    return [number for number in ordered if (number >= 0.75 * best if worse == "low" else number <= 1.5 * best)]


def _bound(limit: Limit, median: float | None, spread: float) -> float | None:
    """The stricter of the limit and the distance from the peers. spread: a share of the median."""
    own = limit.low if limit.worse == "low" else limit.high
    if median is None or median <= 0.0:
        return own
    share = max(limit.effect, spread, limit.least / median)
    if limit.worse == "low":
        return max(own or 0.0, median * (1.0 - share))
    return median * (1.0 + share) if own is None else min(own, median * (1.0 + share))


def _pace(trial: Trial, apart: bool, limits: Mapping[str, Limit], bounds: Mapping[Kind, float | None]) -> Pace:
    rails = set()
    slow: dict[str, tuple[str, ...]] = {}
    for value in trial.values:
        limit = limits.get(value.metric)
        edge = bounds[value.metric, len(trial.members), apart] if limit else None
        if limit is None or edge is None:
            continue
        rails.add(value.rail)
        if value.number < edge if limit.worse == "low" else value.number > edge:
            slow[value.rail] = (*slow.get(value.rail, ()), _words(value, edge))
    if not trial.values:
        rails.add("")
    if trial.outcome == "slow" and not slow:
        rails.add("")
        slow[""] = (trial.message or "slow",)
    return Pace(frozenset(rails), slow)


def _words(value: Value, edge: float) -> str:
    way = f" {value.sender} → {value.receiver}" if value.sender else ""
    return f"{value.metric}{way} {value.number:.4g}, limit {edge:.4g}"
