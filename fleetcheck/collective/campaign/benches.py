"""Which collectives a trial runs, by its kind and by how thorough the campaign is. Runs on the controller; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fleetcheck.collective.bench import Bench, sweep
from fleetcheck.collective.trial import ALONE, WITHOUT_NVLS

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SMALL = (8, KIB, 32 * KIB)
MOST = {"cuda": 8 * GIB, "cpu": 8 * MIB}
LARGE = {"cuda": (MIB, 64 * MIB, GIB), "cpu": (MIB, 8 * MIB)}
ONE = {"cuda": GIB, "cpu": 8 * MIB}
"""The size of collectives that are run at one size only."""
CALLS = {"cuda": (20, 5), "cpu": (6, 2)}
"""Iterations that count, and before them."""
RAIL = 128 * MIB
"""Of single rails: a size of its own, so that its figures are not those of all ranks together."""
SMALL_CALLS = {"cuda": (100, 20), "cpu": (40, 5)}


def benches(kind: str, nodes: int, mode: str, device: str, most_bytes: int | None = None) -> tuple[Bench, ...]:
    """kind: one of trial.KINDS; mode: quick or full; device: cuda or cpu. Of pairs, send and receive and single rails judge the NICs: an
    all-reduce of two nodes need not fill them.
    """
    most = min(most_bytes or MOST[device], MOST[device])
    large = tuple(size for size in sweep(MIB, most) if size > 32 * KIB) if mode == "full" or kind == "whole" else LARGE[device]
    one = (min(ONE[device], most),)
    calls, small = CALLS[device], SMALL_CALLS[device]
    if kind in (ALONE, WITHOUT_NVLS):
        return (Bench("all_reduce", (most,), *calls),)
    found = [Bench("all_reduce", _within(SMALL, most), *small), Bench("barrier", (0,), *small)]
    found += [Bench("all_reduce", _within(large, most), *calls), Bench("all_to_all", one, *calls)]
    if nodes == 2:
        found += [Bench("send_recv", (min(8, most),), *small), Bench("send_recv", one, *calls)]
        found += [Bench("all_reduce", (RAIL,), *calls, rail="each")] if device == "cuda" and most >= RAIL else []
    if nodes > 2 or mode == "full":
        found += [Bench(op, one, *calls) for op in ("all_gather", "reduce_scatter", "broadcast")]
        found += [Bench("overlap", one, *calls)]
    return tuple(bench for bench in found if bench.sizes)


def _within(sizes: Iterable[int], most: int) -> tuple[int, ...]:
    return tuple(size for size in sizes if size <= most)


def most_bytes(told: Sequence[int | None]) -> int | None:
    """The least of what several nodes allow; None: all allow any."""
    return min((each for each in told if each), default=None)
