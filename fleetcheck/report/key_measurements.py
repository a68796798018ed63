"""The few numbers of a node that become metrics: its worst part's, so that no mean hides one bad element. Pure.

Which they are is a literal list, and so is how many series they can become: nothing that a node tells names a metric or a label.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite

from fleetcheck.measured import numbers
from fleetcheck.records import Result

Worst = Callable[[float, float], float]


@dataclass(frozen=True)
class Key:
    """One metric. name: without ``fleetcheck_node_``, its unit last; worst: of several parts, which counts; scale: to the base unit; label:
    name and value of a further label, such as ``dtype`` and ``bf16``."""

    name: str
    worst: Worst
    says: str
    scale: float = 1.0
    label: tuple[tuple[str, str], ...] = ()

    @property
    def labels(self) -> dict[str, str]:
        """Its further labels."""
        return dict(self.label)


def _furthest(one: float, other: float) -> float:
    return max(one, other, key=abs)


AT_REST: Mapping[str, Key] = {
    "gpu.thermal.temperature_celsius": Key("gpu_temperature_celsius", max, "Hottest GPU, when facts were gathered"),
    "gpu.thermal.memory_celsius": Key("gpu_memory_temperature_celsius", max, "Hottest GPU memory, when facts were gathered"),
    "gpu.thermal.margin_celsius": Key("gpu_thermal_margin_celsius", min, "Degrees below the limit of the GPU nearest to it"),
    "gpu.ecc.volatile_uncorrected": Key("gpu_uncorrected_ecc_errors", max, "Uncorrected ECC errors since the driver was loaded, worst GPU"),
    "gpu.remap.uncorrectable": Key("gpu_remapped_rows", max, "Rows remapped for uncorrectable errors, worst GPU"),
    "gpu.nvlink.active_links": Key("gpu_nvlink_active_links", min, "Active NVLinks of the GPU that has fewest"),
    "gpu.pcie.width": Key("gpu_pcie_width_lanes", min, "PCIe lanes of the GPU that has fewest"),
    "hca.rate_gbits_per_second": Key("hca_rate_bytes_per_second", min, "Rate of the slowest HCA port", 1e9 / 8),
    "hca.symbol_error_per_second": Key("hca_symbol_errors_per_second", max, "Symbol errors a second, worst HCA port"),
    "nvme.health.percentage_used": Key("nvme_used_ratio", max, "Endurance used, most worn NVMe drive", 0.01),
    "filesystem.room.free_percent": Key("filesystem_free_ratio", min, "Room left, fullest file system of the profile", 0.01),
    "clock.offset_seconds": Key("clock_offset_seconds", _furthest, "Offset of the clock from its time source"),
    "bmc.power.watts": Key("power_watts", max, "Draw of the node as its management controller reads it"),
    "system.uptime_seconds": Key("uptime_seconds", min, "Time since the node booted"),
}
"""By the whole name of what a check read."""

_MATMUL = "Matrix multiplication under load, slowest GPU"
_DTYPES = ("bf16", "fp16", "tf32", "fp32", "fp64", "fp8")
UNDER_LOAD: Mapping[str, Key] = {
    **{f"tflops_{dtype}": Key("matmul_flops_per_second", min, _MATMUL, 1e12, (("dtype", dtype),)) for dtype in _DTYPES},
    "copy_gb_s": Key("hbm_bytes_per_second", min, "GPU memory, reads and writes counted, slowest GPU", 1e9),
    "h2d_gb_s": Key("host_to_gpu_bytes_per_second", min, "Copies to the slowest GPU", 1e9),
    "d2h_gb_s": Key("gpu_to_host_bytes_per_second", min, "Copies from the slowest GPU", 1e9),
    "dram_gb_s": Key("dram_bytes_per_second", min, "Main memory", 1e9),
    "disk_write_mb_s": Key("disk_write_bytes_per_second", min, "Writing to the scratch disk", 1e6),
    "disk_read_mb_s": Key("disk_read_bytes_per_second", min, "Reading from the scratch disk", 1e6),
}
"""By what a load calls it, the last word of what a check read of it."""
OF_LINKS: Mapping[str, Key] = {
    "peerlink.links.gb_s": Key("gpu_peer_bytes_per_second", min, "One direction of the slowest pair of GPUs in the node", 1e9),
}
"""By the whole name: links to the host are called alike."""

_BUSBW = "Bus bandwidth between nodes, best of the node's partners and sizes: its own limit, not that of a slow partner"
COLLECTIVES: Mapping[str, Key] = {
    op: Key("busbw_bytes_per_second", max, _BUSBW, 1e9, (("collective", op),))
    for op in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
}
"""By the collective in the name of what a check of several nodes read."""
_COLLECTIVE = re.compile(rf"(?:.*\.)?({'|'.join(COLLECTIVES)})[._]busbw_gb(?:_s|ytes_per_second)(?:_\w+)?")

KEYS: tuple[Key, ...] = (*AT_REST.values(), *UNDER_LOAD.values(), *OF_LINKS.values(), *COLLECTIVES.values())


@lru_cache(maxsize=4096)
def key_of(metric: str) -> Key | None:
    """The metric that a number becomes; None for nearly all.

    >>> key_of("trial.all_reduce_busbw_gb_s_8MiB").labels, key_of("gemm.tflops_bf16").name, key_of("gemm.tflops_bf16_of_peers")
    ({'collective': 'all_reduce'}, 'matmul_flops_per_second', None)
    """
    collective = _COLLECTIVE.fullmatch(metric) if "busbw" in metric else None
    if collective:
        return COLLECTIVES[collective[1]]
    return AT_REST.get(metric) or OF_LINKS.get(metric) or UNDER_LOAD.get(metric.rpartition(".")[2])


@dataclass
class KeyMeasurements:
    """By node and key, the worst value so far, in base units."""

    values: dict[str, dict[Key, float]] = field(default_factory=dict)

    def watched(self, results: Iterable[Result]) -> Iterator[Result]:
        """The same results, their key measurements noted while they pass by."""
        for result in results:
            if result.metrics and any(map(key_of, result.metrics)):
                self._note(result)
            yield result

    def _note(self, result: Result) -> None:
        """What one node measured is its own; what several did together is each one's."""
        for metric, _, value in numbers(result):
            key = key_of(metric)
            if key and isfinite(value):
                for node in [result.node] if result.node else result.nodes if key in COLLECTIVES.values() else ():
                    own, scaled = self.values.setdefault(node, {}), value * key.scale
                    own[key] = key.worst(own[key], scaled) if key in own else scaled
