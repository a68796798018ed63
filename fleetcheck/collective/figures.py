"""The figures of a trial from the times of all its ranks: bandwidth, latency, overlap, by direction and rail. Runs on the controller; pure.

An iteration lasts as long as its slowest rank; of the iterations the median counts, for one of them is always disturbed.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from fleetcheck.collective.bench import SMALL_BYTES, busbw, metric, percentile
from fleetcheck.collective.ranks import Measured, Rank
from fleetcheck.collective.trial import Value

LEAST_FOR_P99 = 20
Key = tuple[str, int, str, int, int]
"""(collective, size, rail, sender, receiver) of figures that belong together."""


def values(ranks: Sequence[Rank], members: Sequence[str]) -> tuple[Value, ...]:
    """Every figure, in the order of measuring. members: names by number of node."""
    several = len(ranks) > len(members)
    found: dict[Key, list[Measured]] = {}
    for rank in ranks:
        for one in rank.measured:
            if not one.skipped:
                key = one if several or one.op != "send_recv" else replace(one, rail="")
                found.setdefault((key.op, key.size, key.rail, key.sender, key.receiver), []).append(one)
    return tuple(value for key, told in found.items() for value in _values(key, told, members))


def _values(key: Key, told: Sequence[Measured], members: Sequence[str]) -> Iterator[Value]:
    op, size, rail, sender, receiver = key
    way = (members[sender], members[receiver]) if 0 <= sender < len(members) and 0 <= receiver < len(members) else ("", "")
    if op == "overlap":
        yield from _overlap(size, told)
        return
    for name, number in _of_times(op, size, told):
        yield Value(metric(op, name, size), number, *way, rail)


def _of_times(op: str, size: int, told: Sequence[Measured]) -> Iterator[tuple[str, float]]:
    times = [max(each) for each in zip(*(one.seconds for one in told), strict=False)]
    if not times or min(times) <= 0:
        return
    if size <= SMALL_BYTES:
        yield "p50_us", percentile(times, 0.50) * 1e6
        if len(times) >= LEAST_FOR_P99:
            yield "p99_us", percentile(times, 0.99) * 1e6
        return
    seconds, moved = statistics.median(times), told[0].moved
    yield "busbw_gb_s", busbw(op, moved, seconds, len(told))
    if op not in ("send_recv", "broadcast"):  # where both are the same
        yield "algbw_gb_s", moved / seconds / 1e9


def _overlap(size: int, told: Sequence[Measured]) -> Iterator[Value]:
    """How much of the shorter is hidden behind the longer: 1 all of it; one after the other gives max / sum."""
    phases = {name: [max(each) for each in zip(*(one.phases.get(name, ()) for one in told), strict=False)]
              for name in ("alone_compute", "alone_communication", "together")}
    if all(phases.values()) and min(phases["together"]) > 0:
        middle = {name: statistics.median(times) for name, times in phases.items()}
        ratio = max(middle["alone_compute"], middle["alone_communication"]) / middle["together"]
        yield Value(metric("overlap", "ratio", size), ratio)


IN_STEP = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
"""Collectives in which each rank waits for all."""
LEAST_SECONDS, LEAST_SHARE = 0.0005, 0.2
"""Of the time of an iteration: what a rank must cost the others to be named."""
LEAST_TIMES, NEARLY_ALWAYS = 5, 0.8


def slowest(ranks: Sequence[Rank]) -> int | None:
    """The rank that the others wait for, or None: none stands out. It comes to the barrier last, or waits least inside the calls."""
    entries = list(_in_step(ranks))
    lasted = [max(each) for each in _by_iteration(entries, lambda one: one.seconds)]
    late = _behind(entries, lambda one: one.entered, lasted)
    return late if late is not None else _behind(entries, lambda one: tuple(-each for each in one.seconds), lasted)


Times = Callable[[Measured], tuple[float, ...]]


def _behind(entries: Sequence[Mapping[int, Measured]], times: Times, lasted: Sequence[float]) -> int | None:
    """The rank with the highest times nearly always, by enough."""
    rows = _by_iteration(entries, times)
    if len(rows) < LEAST_TIMES or not lasted:
        return None
    numbers = sorted(entries[0])
    worst = Counter(max(zip(row, numbers, strict=True))[1] for row in rows)
    number, often = worst.most_common(1)[0]
    leads = [row[numbers.index(number)] - max(each for at, each in zip(numbers, row, strict=True) if at != number) for row in rows]
    enough = max(LEAST_SECONDS, LEAST_SHARE * statistics.median(lasted))
    return number if often >= NEARLY_ALWAYS * len(rows) and statistics.median(leads) >= enough else None


def _by_iteration(entries: Sequence[Mapping[int, Measured]], times: Times) -> list[tuple[float, ...]]:
    """For each iteration of all of them, the times in the order of the ranks."""
    return [row for each in entries for row in zip(*(times(each[number]) for number in sorted(each)), strict=False)]


def _in_step(ranks: Sequence[Rank]) -> Iterator[Mapping[int, Measured]]:
    """For each collective and size that all ranks measured, rank → its figures."""
    found: dict[tuple[str, int], dict[int, Measured]] = {}
    for rank in ranks:
        for one in rank.measured:
            if one.op in IN_STEP and not one.rail and one.seconds and one.entered:
                found.setdefault((one.op, one.size), {})[rank.number] = one
    return (entries for entries in found.values() if len(entries) == len(ranks) > 1)
