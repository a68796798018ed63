"""Limits of drives, links and sensors: the profile's own, else one that holds for any such part, else none. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.bound import Bound, Choice
from fleetcheck.profile import Profile

_READ = datetime.date(2026, 11, 30)


def _bound(unit: str, source: str, **ends: Any) -> Bound:
    return Bound(unit=unit, source=source, date=_READ, **ends)


LIMITS: Mapping[str, Bound] = {
    "nvme_percentage_used": _bound("%", "NVM Express SMART log: 100 is the rated life, which a drive may outlive; 80 is the "
                                   "common alert level", high=80),
    "nvme_media_errors": _bound("errors", "NVM Express SMART log: data that could not be read or written", high=0),
    "nvme_celsius": _bound("°C", "data-centre NVMe drives set their warning threshold near 70 °C; unverified", high=70),
    "nvme_pcie_width": _bound("lanes", "NVM Express U.2 and M.2 drives have four lanes", low=4, high=4),
    "disk_unreadable_sectors": _bound("sectors", "SMART attributes 187, 197, 198: Backblaze replaces on any growth", high=0),
    "fan_rpm": _bound("rpm", "a fan that turns; server fans idle above 1,000; unverified", low=500),
    "inlet_celsius": _bound("°C", "ASHRAE TC 9.9, class A2: 10 to 35 °C", high=35),
    "module_celsius": _bound("°C", "SFF-8636 and CMIS modules of commercial range end at 70 to 75 °C; unverified", high=73),
    "link_effective_error_rate": _bound("errors/bit", "InfiniBand architecture: 1E-12 after error correction", high=1e-12),
    "link_losses_per_day": _bound("losses/day", "a sound cable holds for weeks; training at boot is left out; unverified", high=1),
    "hca_pcie_width": _bound("lanes", "ConnectX-6 and -7 adapters of this class have 16 lanes", low=16, high=16),
}


def limit(profile: Profile, name: str) -> Bound:
    """The limit of that name; skips the check where neither the profile nor practice sets one."""
    found = profile.limits.get(name) or LIMITS.get(name)
    if found is None:
        pytest.skip(f"profile {profile.name} sets no limit {name}: only the site can")
    return found


def choice(profile: Profile, name: str) -> Choice:
    """The words the profile allows under that name; skips the check where it names none."""
    found = profile.choices.get(name)
    if found is None:
        pytest.skip(f"profile {profile.name} names no choice {name}: only the site can")
    return found


def exactly(profile: Profile, name: str) -> int | None:
    """How many parts the profile promises, where it says an exact number."""
    found = profile.limits.get(name)
    return int(found.low) if found and found.low is not None and found.low == found.high else None
