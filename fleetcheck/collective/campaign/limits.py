"""Which figures of trials are judged, and by what: the profile's floors, and peers. Runs on the controller; pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from fleetcheck.bound import Bound
from fleetcheck.collective.bench import UNITS
from fleetcheck.collective.slow import Limit
from fleetcheck.facts.load_limits import LIMITS
from fleetcheck.profile import Profile

METRIC = re.compile(r"(?P<op>[a-z_]+)_(?P<what>busbw_gb_s|algbw_gb_s|p50_us|p99_us|ratio)(?:_(?P<count>\d+)(?P<unit>B|KiB|MiB|GiB))?\Z")
LEAST_BYTES = 1 << 20
"""Below it bandwidth is latency in disguise."""
LATENCIES = ("p50_us", "p99_us")
LEAST_MICROSECONDS = {"cuda": {"p50_us": 20.0, "p99_us": 500.0}, "cpu": {"p50_us": 1000.0, "p99_us": math.inf}}
"""Peers whose latencies differ by less are alike: processors have other things to do for a moment, and then for a tail of many."""


def size_of(metric: str) -> int:
    """Bytes of the messages a figure is about; 0: none.

    >>> size_of("all_reduce_busbw_gb_s_8MiB"), size_of("barrier_p50_us")
    (8388608, 0)
    """
    found = METRIC.match(metric)
    return int(found["count"]) * dict(UNITS).get(found["unit"], 1) if found and found["count"] else 0


def what(metric: str) -> str:
    """busbw_gb_s, p50_us…; empty for a figure of another name."""
    found = METRIC.match(metric)
    return found["what"] if found else ""


def op(metric: str) -> str:
    """The collective."""
    found = METRIC.match(metric)
    return found["op"] if found else ""


def limits(profile: Profile, stand_in: bool = False) -> Callable[[str], Limit | None]:
    """Metric → its limit, None where it is not judged. stand_in: processors take the place of accelerators, whose floors are not theirs."""
    floors = profile.interconnect if not stand_in else None
    on = "cpu" if stand_in or profile.gpu is None else "cuda"
    fraction = _share(profile, "trial_peer_fraction")

    def limit(metric: str) -> Limit | None:
        kind, size = what(metric), size_of(metric)
        if kind == "busbw_gb_s" and size >= LEAST_BYTES:
            pair, wide = (_low(floors.busbw(op(metric), members, size)) if floors else None for members in (2, 4))
            return Limit(metric, low=pair, low_wide=wide, effect=1.0 - fraction)
        if kind in LATENCIES:
            return Limit(metric, high=_high(floors.latency(op(metric), kind, size)) if floors else None, worse="high",
                         effect=_share(profile, f"trial_{kind[:3]}_of_peers") - 1.0, least=LEAST_MICROSECONDS[on][kind])
        return None

    return limit


def _share(profile: Profile, name: str) -> float:
    bound = profile.limits.get(name) or LIMITS[name]
    return float(bound.low if bound.low is not None else bound.high or 0.0)


def _low(bound: Bound | None) -> float | None:
    return bound.low if bound else None


def _high(bound: Bound | None) -> float | None:
    return bound.high if bound else None
