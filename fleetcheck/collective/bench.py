"""Benchmarks of a trial, and what their figures are called. Runs on the controller; pure.

Bandwidths are those of nccl-tests (doc/PERFORMANCE.md): algbw is size / time, busbw is algbw times a factor that makes it comparable
with the speed of the hardware, however many ranks there are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FACTORS: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda ranks: 2.0 * (ranks - 1) / ranks, "all_gather": lambda ranks: (ranks - 1) / ranks,
    "reduce_scatter": lambda ranks: (ranks - 1) / ranks, "all_to_all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0, "send_recv": lambda ranks: 1.0,
}
"""Factor of bus bandwidth by collective and number of ranks."""
OPS = (*FACTORS, "barrier", "overlap")
SMALL_BYTES = 32 << 10
"""Up to here a size is about latency, beyond it about bandwidth."""
UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


@dataclass(frozen=True)
class Bench:
    """One collective at some sizes. rail: "each" runs it in one group a local rank (accelerator and its NIC), all groups at once."""

    op: str
    sizes: tuple[int, ...] = (0,)
    iterations: int = 20
    warmup: int = 5
    dtype: str = "float32"
    rail: str = ""

    def __post_init__(self) -> None:
        if self.op not in OPS:
            raise ValueError(f"no collective {self.op!r}; expected one of {', '.join(OPS)}")

    def as_asked(self) -> dict[str, Any]:
        """As a node takes it."""
        told = dataclasses.asdict(self)
        return {**told, "bytes": list(told.pop("sizes"))}


def sweep(first: int = 8, last: int = 8 << 30, factor: int = 4) -> tuple[int, ...]:
    """Sizes from first to last.

    >>> sweep(8, 1 << 10)
    (8, 32, 128, 512)
    """
    sizes = []
    while first <= last:
        sizes.append(first)
        first *= factor
    return tuple(sizes)


def size_label(size: int) -> str:
    """A size as operators write it.

    >>> size_label(8), size_label(32 << 10), size_label(8 << 30)
    ('8B', '32KiB', '8GiB')
    """
    return next((f"{size // unit}{name}" for name, unit in UNITS if size >= unit and size % unit == 0), f"{size}B")


def metric(op: str, what: str, size: int = 0) -> str:
    """What a figure is called. what: busbw_gb_s, algbw_gb_s, p50_us, p99_us or ratio.

    >>> metric("all_reduce", "busbw_gb_s", 8 << 20), metric("barrier", "p50_us")
    ('all_reduce_busbw_gb_s_8MiB', 'barrier_p50_us')
    """
    return f"{op}_{what}_{size_label(size)}" if size else f"{op}_{what}"


def busbw(op: str, moved: int, seconds: float, ranks: int) -> float:
    """Bus bandwidth in GB/s.

    >>> busbw("all_reduce", 8_000_000_000, 1.0, 16)
    15.0
    """
    return moved / seconds / 1e9 * FACTORS[op](ranks)


def percentile(seconds: Sequence[float], share: float) -> float:
    """The smallest of the values that this share of them does not exceed.

    >>> percentile([5.0, 1.0, 3.0, 2.0], 0.5), percentile([1.0, 2.0], 0.99)
    (2.0, 2.0)
    """
    ordered = sorted(seconds)
    return ordered[max(0, -int(-share * len(ordered) // 1) - 1)]


def expected(benches: Sequence[Bench]) -> Mapping[tuple[str, int], Bench]:
    """Every (collective, size) that was asked for."""
    return {(bench.op, size): bench for bench in benches for size in bench.sizes}
