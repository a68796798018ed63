"""A GPU under load against its peers and its own power limit. Runs on the controller."""

from __future__ import annotations

from statistics import median

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.load_window import LoadedGpu
from fleetcheck.view import Parts

FULL = "gemm"
"""The load that takes all of a GPU's power."""


def clock_of_peers(gpu: LoadedGpu, gpus: Parts[LoadedGpu]) -> float:
    """A GPU's clock while it multiplies, as a fraction of the median of the others; skips the check where it has none."""
    if gpus.expected == 1:
        pytest.skip("one accelerator has no peers")
    own, others = gpu.mean("sm_clock", FULL), []
    for other in gpus.present:
        try:
            others += [other.mean("sm_clock", FULL)] if other is not gpu else []
        except NotMeasured:
            continue
    usual = median(others) if others else 0.0
    if not usual:
        raise NotMeasured(f"{gpu.label}: no other GPU told its clock under {FULL}")
    return float(gpu.derived("sm_clock_of_peers", round(own / usual, 4)))


def power_of_limit(gpu: LoadedGpu, watts: Bound) -> float:
    """The highest draw of any 10 s of multiplying, as a fraction of the power limit."""
    limit = watts.low or watts.high
    if not limit:
        pytest.skip("the profile promises no power limit")
    return float(gpu.derived("power_of_limit", round(gpu.highest_mean("power", FULL) / limit, 3)))
