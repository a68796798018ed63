"""Limits that hold where a profile names none of its own under ``limits``. Each with its source; a profile's value goes first."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from fleetcheck.bound import Bound
from fleetcheck.profile import Profile

_READ = datetime.date(2026, 11, 30)


def _bound(unit: str, source: str, low: float | None = None, high: float | None = None) -> Bound:
    return Bound(low=low, high=high, unit=unit, source=source, date=_READ)


LIMITS: Mapping[str, Bound] = {
    "uptime_seconds": _bound("s", "facebookresearch/gcm check_node: up for less than 600 s", low=600),
    "stuck_process_seconds": _bound("s", "facebookresearch/gcm check_dstate: older than 300 s", high=300),
    "zombie_seconds": _bound("s", "facebookresearch/gcm check_zombie: older than 300 s", high=300),
    "file_handles_percent": _bound("%", "common alert level; unverified", high=80),
    "cpu_megahertz": _bound(
        "MHz", "a busy core below its base clock; a stuck PROCHOT holds Xeon at 800 and EPYC at 400; unverified", low=1000
    ),
    "cpu_clock_share": _bound("of the highest clock", "base clocks are half of the highest and more; unverified", low=0.4),
    "cpu_throttles_per_second": _bound("events/s", "Linux thermal_throttle counters: a cool node counts none", high=0),
    "dram_corrected_per_second": _bound("errors/s", "Schroeder et al. 2009: a sound DIMM counts a few a day", high=0.1),
    "dram_uncorrected": _bound("errors", "kernel.org EDAC documentation: data was lost", high=0),
    "buddy_high_order_blocks": _bound("blocks", "facebookresearch/gcm check_buddyinfo: ten of order 8 or more", low=10),
    "link_errors_per_second": _bound("errors/s", "Linux interface statistics: a sound link damages no frame", high=0),
    "link_drops_per_second": _bound("drops/s", "Linux interface statistics; unverified", high=100),
    "fabric_mtu_bytes": _bound("bytes", "Linux IPoIB over a fabric of 2 KiB packets; 1500 is an office network", low=2044),
    "symbol_errors_per_second": _bound("errors/s", "NVIDIA/NVSentinel NIC monitor: above 10 a second", high=10),
    "receive_errors_per_second": _bound("errors/s", "NVIDIA/NVSentinel NIC monitor: any growth", high=0),
    "link_recoveries_per_second": _bound(
        "recoveries/s", "NVIDIA/NVSentinel NIC monitor: above 5 a minute", high=5 / 60
    ),
    "transport_retries_per_second": _bound("errors/s", "NVIDIA/NVSentinel NIC monitor: any growth", high=0),
    "buffer_drops_per_second": _bound("drops/s", "NVIDIA/NVSentinel NIC monitor; unverified", high=0),
    "memlock_bytes": _bound("bytes", "NVIDIA NCCL documentation: ulimit -l unlimited; 64 GiB at least; unverified", low=1 << 36),
    "open_files": _bound("files", "a rank opens thousands of files and sockets; common data-centre setting; unverified", low=65536),
    "tasks_percent": _bound("%", "common alert level; unverified", high=80),
    "other_mounts_free_percent": _bound("%", "drives of fstab that the profile does not name: less than 5 % free is full", low=5),
    "scratch_seconds": _bound("s", "a small file on a healthy shared file system takes milliseconds; unverified", high=2),
    "torch_import_seconds": _bound("s", "a cold import from a local disk takes 5 to 15 s; unverified", high=60),
    "clock_heard_seconds": _bound(
        "s", "chrony.conf(5): polls of 64 to 1024 s; RFC 5905: eight polls missed, at least an hour; unverified", high=3600
    ),
    "ptp_offset_seconds": _bound(
        "s", "PTP keeps within tens of microseconds even with time stamps made by software; unverified", low=-0.001, high=0.001
    ),
    "huge_pages_share": _bound(
        "of all memory", "kernel.org hugetlbpage: reserved pages serve nothing else; jobs want the rest; unverified", high=0.5
    ),
    "exporter_age_seconds": _bound("s", "two intervals of a minute, the longest usual one; unverified", high=120),
}


def limit(profile: Profile, name: str) -> Bound:
    """The profile's limit of that name, else the one here."""
    return profile.limits.get(name) or LIMITS[name]
