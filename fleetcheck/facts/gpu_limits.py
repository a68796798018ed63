"""Limits of the GPU side that hold where a profile names none of its own under ``limits``. Runs on the controller."""

from __future__ import annotations

import datetime
from typing import Any

from fleetcheck.bound import Bound
from fleetcheck.profile import Profile

_SEEN = datetime.date(2026, 11, 30)


def _bound(unit: str, source: str, **ends: Any) -> Bound:
    return Bound(unit=unit, source=source, date=_SEEN, **ends)


LIMITS = {
    "idle_gpu_memory_bytes": _bound("bytes", "practice: an idle GPU holds less than 1 GiB; unverified", high=1 << 30),
    "corrected_ecc_errors_per_second": _bound(
        "errors/s", "storms seen under load: 4,647 to 17,657 a second; a good GPU counts none; unverified", high=1000),
    "sram_uncorrectable_errors": _bound("errors", "Azure/azurehpc-health-checks: any uncorrectable SRAM error", high=0),
    "nvlink_errors_per_second": _bound("errors/s", "NVIDIA DCGM fails at 100 a second, warns at 1 a minute", high=10),
    "nvlink_symbol_ber_exponent": _bound("", "floor of the packed rate (NVML_NVLINK_BER_*) before Blackwell", low=255),
    "nvlink_symbol_ber_exponent_blackwell": _bound("", "floor of the packed rate, aggregated since Blackwell", low=238),
    "pcie_replays_per_minute": _bound("replays/min", "NVIDIA DCGM: 1.92 a minute and lane at Gen5, 16 lanes", high=31),
    "pcie_correctable_errors_per_second": _bound("errors/s", "site practice; unverified", high=10),
    "celsius_above_node_median": _bound("°C", "healthy below 10, faulty above 15; unverified", high=14),
    "power_cap_draw_fraction": _bound("of the cap", "a faulty GPU was held at half its cap; unverified", low=0.75),
    "power_draw_watts": _bound("W", "NVIDIA/NVSentinel: to 1500 W on GB200; small boards idle low", low=5, high=1500),
}


def limit(profile: Profile, name: str) -> Bound:
    """The profile's limit of that name, else the one here."""
    return profile.limits.get(name) or LIMITS[name]
