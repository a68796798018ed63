"""The shape of bandwidth over sizes: it rises and stays; a dip is a size at which the library or a link does something else. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

DIP = 0.20
"""How far below the best of the smaller sizes a larger one may stay: rings, trees and protocols change from size to size."""


@dataclass(frozen=True, slots=True)
class Dip:
    """busbw at a size, in GB/s, and the best at a smaller one."""

    size: int
    busbw: float
    best: float
    best_size: int


def dips(points: Sequence[tuple[int, float]], share: float = DIP) -> tuple[Dip, ...]:
    """Sizes at which bandwidth fell by more than a share. points: (bytes, GB/s).

    >>> dips([(1 << 20, 10.0), (4 << 20, 40.0), (16 << 20, 20.0), (64 << 20, 41.0)])
    (Dip(size=16777216, busbw=20.0, best=40.0, best_size=4194304),)
    """
    found, best = [], (0, 0.0)
    for size, busbw in sorted(points):
        if busbw < (1.0 - share) * best[1]:
            found.append(Dip(size, busbw, best[1], best[0]))
        best = max(best, (size, busbw), key=lambda point: point[1])
    return tuple(found)
