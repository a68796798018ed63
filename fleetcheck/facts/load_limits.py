"""Limits of loads that hold where a profile names none of its own under ``limits``. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.bound import Bound
from fleetcheck.profile import Profile

_READ = datetime.date(2026, 11, 30)


def _bound(unit: str, source: str, **ends: Any) -> Bound:
    return Bound(unit=unit, source=source, date=_READ, **ends)


LIMITS: Mapping[str, Bound] = {
    "load_peer_fraction": _bound(
        "of the others' median", "stas00/ml-engineering: 5 % and more between GPUs of one node is normal; twice that", low=0.90),
    "load_drift_fraction": _bound(
        "of the first tenth", "warm-up of a cold node costs a few per cent; unverified", low=0.93),
    "load_processor_share": _bound(
        "of the processors' time", "daemons of a claimed node take a few per cent; unverified", low=0.90),
    "load_clock_fraction": _bound(
        "of the node's median", "clocks follow power and heat, so they spread like rates; stas00/ml-engineering: 5 % is normal", low=0.90),
    "load_power_fraction": _bound(
        "of the power limit", "NVIDIA DCGM targeted_power: 75 % of the target, which is about the board's limit", low=0.75),
    "tested_memory_fraction": _bound("of free memory", "wilicc/gpu-burn fills 90 %; NVIDIA DCGM memtest 75 %", low=0.90),
    **{f"{reason}_percent": _bound(
        "% of the load", "Azure azurehpc-health-checks allows the power cap alone; one sample in a hundred may be a clock change", high=1)
       for reason in ("hardware_thermal", "hardware_slowdown", "software_thermal", "power_brake")},
    "trial_peer_fraction": _bound(
        "of the peers' bus bandwidth", "3 % between runs of nccl-tests is normal; three times that", low=0.90),
    "trial_p50_of_peers": _bound("times the peers' median latency", "half as much again is no noise of a median; unverified", high=1.5),
    "trial_p99_of_peers": _bound("times the peers' p99 latency", "tails are long: four times is beyond them; unverified", high=4.0),
    "scaling_efficiency": _bound(
        "of the bus bandwidth of two nodes",
        "H100, 8 x 400G: 440 GB/s of two nodes, 370 of four and more (Oracle OCI, stas00/ml-engineering); a tenth less", low=0.75),
    "collective_overlap_ratio": _bound("of the longer alone", "one after the other gives 0.5, all hidden 1; unverified", low=0.6),
    "nvlink_sharp_gain": _bound(
        "times the bus bandwidth without", "NVIDIA/nccl issue 2140: 1.3 on eight H100, 1.2 on eight B300; slower by a twentieth is no gain "
        "and no noise", low=0.95),
    "trial_link_errors": _bound("errors", "NVIDIA/NVSentinel NIC monitor: above 10 a second, here of all trials together", high=10),
    "busbw_of_smaller_sizes": _bound(
        "of the best at a smaller size", "bus bandwidth grows with the size; cvs verifies that it does not dip", low=0.80),
    "load_corrected_errors_per_second": _bound(
        "errors/s", "storms seen under load: 4,647 to 17,657 a second; a good GPU counts none; unverified", high=1000),
    "load_pcie_replays_per_minute": _bound("replays/min", "NVIDIA DCGM: 1.92 a minute and lane at Gen5, 16 lanes", high=31),
    "load_nvlink_errors_per_second": _bound("errors/s", "NVIDIA DCGM fails at 100 a second, warns at 1 a minute", high=10),
}


def limit(profile: Profile, name: str) -> Bound:
    """The profile's limit of that name, else the one here; skips the check where neither sets one."""
    found = profile.limits.get(name) or LIMITS.get(name)
    if found is None:
        pytest.skip(f"profile {profile.name} sets no limit {name}: only the site can")
    return found


def known(profile: Profile, name: str) -> Any:
    """What the profile says of loads under that name; skips the check where it is silent: no figure is known."""
    found = getattr(profile.load, name) if profile.load else None
    if not found:
        pytest.skip(f"profile {profile.name} knows no {name.replace('_', ' ')}")
    return found
