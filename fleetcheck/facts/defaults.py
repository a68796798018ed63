"""Limits that hold where a profile names none of its own under ``limits``. Each with its source; a profile's value goes first."""

from __future__ import annotations

from fleetcheck.bound import Bound
from fleetcheck.profile import Profile

LIMITS = {
    "idle_gpu_memory_bytes": Bound(high=1 << 30, unit="bytes", source="fault catalogue: more than 1 GiB held on an idle GPU", date="2026-11-30"),
    "corrected_ecc_errors_per_second": Bound(high=1000, unit="errors/s", source="storms seen: 4,647 to 17,657 a second; idle: 0", date="2026-11-30"),
    "sram_uncorrectable_errors": Bound(high=0, unit="errors", source="Azure/azurehpc-health-checks: any uncorrectable SRAM error", date="2026-11-30"),
    "nvlink_errors_per_second": Bound(high=10, unit="errors/s", source="NVIDIA DCGM fails at 100 a second; a tenth of it", date="2026-11-30"),
    "nvlink_symbol_ber_exponent": Bound(low=255, unit="", source="floor of the packed rate before Blackwell (Blackwell: 238)", date="2026-11-30"),
    "pcie_replays_per_minute": Bound(high=31, unit="replays/min", source="NVIDIA DCGM: 1.92 a minute and lane at Gen5, 16 lanes", date="2026-11-30"),
    "pcie_correctable_errors_per_second": Bound(high=10, unit="errors/s", source="site practice; unverified", date="2026-11-30"),
    "celsius_above_node_median": Bound(high=14, unit="°C", source="healthy nodes stay below 10, faults exceed 15; unverified", date="2026-11-30"),
    "power_cap_draw_fraction": Bound(low=0.75, unit="of the cap", source="fault seen: held at half the cap; unverified", date="2026-11-30"),
    "power_draw_watts": Bound(low=20, high=1500, unit="W", source="NVIDIA/NVSentinel: 65 to 1500 W on GB200; smaller boards idle lower", date="2026-11-30"),
    "uptime_seconds": Bound(low=600, unit="s", source="facebookresearch/gcm check_node: up for less than 600 s", date="2026-11-30"),
    "stuck_process_seconds": Bound(high=300, unit="s", source="facebookresearch/gcm check_dstate: older than 300 s", date="2026-11-30"),
    "zombie_seconds": Bound(high=300, unit="s", source="facebookresearch/gcm check_zombie: older than 300 s", date="2026-11-30"),
    "file_handles_percent": Bound(high=80, unit="%", source="common alert level; unverified", date="2026-11-30"),
    "pids_percent": Bound(high=80, unit="%", source="common alert level; unverified", date="2026-11-30"),
    "load_per_thread": Bound(high=4, unit="", source="far above any training job's load; unverified", date="2026-11-30"),
    "cpu_throttles_per_second": Bound(high=0, unit="events/s", source="Linux thermal_throttle counters: none on a cool idle node", date="2026-11-30"),
    "dram_corrected_per_second": Bound(high=0.1, unit="errors/s", source="Schroeder et al. 2009: healthy DIMMs count a few a day", date="2026-11-30"),
    "dram_uncorrected": Bound(high=0, unit="errors", source="kernel.org EDAC documentation: data was lost", date="2026-11-30"),
    "buddy_high_order_blocks": Bound(low=10, unit="blocks", source="facebookresearch/gcm check_buddyinfo: 10 blocks of order 8 or more", date="2026-11-30"),
    "numa_memory_balance_percent": Bound(high=20, unit="%", source="one DIMM of eight a channel group missing is 12 %; unverified", date="2026-11-30"),
    "link_errors_per_second": Bound(high=0, unit="errors/s", source="Linux interface statistics: uncorrected errors; none on a sound link", date="2026-11-30"),
    "symbol_errors_per_second": Bound(high=10, unit="errors/s", source="NVIDIA/NVSentinel nic-health-monitor: above 10 a second is degraded", date="2026-11-30"),
    "receive_errors_per_second": Bound(high=0, unit="errors/s", source="NVIDIA/NVSentinel nic-health-monitor", date="2026-11-30"),
    "link_recoveries_per_second": Bound(high=5 / 60, unit="recoveries/s", source="NVIDIA/NVSentinel nic-health-monitor: more than 5 a minute", date="2026-11-30"),
    "transport_retries_per_second": Bound(high=0, unit="errors/s", source="NVIDIA/NVSentinel nic-health-monitor: any growth", date="2026-11-30"),
    "buffer_drops_per_second": Bound(high=0, unit="drops/s", source="NVIDIA/NVSentinel nic-health-monitor; unverified", date="2026-11-30"),
}


def limit(profile: Profile, name: str) -> Bound:
    """The profile's limit of that name, else the one here."""
    return profile.limits.get(name) or LIMITS[name]
