"""System memory of a healthy node: /proc/meminfo, the NUMA nodes' shares, free blocks."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Base
from fleetcheck.sandbox.machine.node import Node

_PAGES = "HugePages_Total:       0\nHugePages_Free:        0\nHugePages_Rsvd:        0\nHugePages_Surp:        0\n"


def kbytes(node: Node) -> dict[str, int]:
    """/proc/meminfo by name: a tenth in use or a little more, the page cache as much again."""
    total = node.base.memory_bytes // 1024
    used = total * node.identity.pick(11, 19, "used-memory") // 200
    return {
        "MemTotal": total, "MemFree": total - 2 * used, "MemAvailable": total - used, "Buffers": used // 40,
        "Cached": used // 2, "SwapCached": 0, "Active": used // 2, "Inactive": used // 3, "Dirty": 612, "Writeback": 0,
        "AnonPages": used // 5, "Mapped": used // 30, "Shmem": used // 60, "Slab": used // 10, "SwapTotal": 0,
        "SwapFree": 0, "SReclaimable": used // 20, "SUnreclaim": used // 20, "CommitLimit": total // 2,
        "Committed_AS": used // 4, "HardwareCorrupted": 0, "AnonHugePages": used // 9,
    }


def _lines(values: dict[str, int], prefix: str = "") -> str:
    return "".join(f"{prefix}{name + ':':<15} {value:>10} kB\n" for name, value in values.items())


def meminfo(node: Node) -> str:
    """/proc/meminfo."""
    return _lines(kbytes(node)) + _PAGES + "Hugepagesize:       2048 kB\n"


def node_meminfo(base: Base, number: int) -> str:
    """The meminfo of a NUMA node; one that holds GPU memory has none of the system's."""
    total = base.memory_bytes // base.cpus.processor_nodes // 1024 if number < base.cpus.processor_nodes else 0
    prefix = f"Node {number} "
    rows = {"MemTotal": total, "MemFree": total * 17 // 20, "MemUsed": total - total * 17 // 20}
    return _lines(rows, prefix) + f"{prefix}HugePages_Total:       0\n{prefix}HugePages_Free:        0\n"


def buddyinfo(base: Base) -> str:
    """/proc/buddyinfo: large blocks in plenty."""
    rows = ["Node 0, zone      DMA      0      0      0      0      0      0      0      0      1      1      2 \n",
            "Node 0, zone    DMA32      5      4      6      5      4      5      4      5      5      3    380 \n"]
    for number in range(base.cpus.processor_nodes):
        free = base.memory_bytes // base.cpus.processor_nodes // (8 << 20)
        rows.append(f"Node {number}, zone   Normal   9241   8012   7340   5120   3310   2210   1405    912    604    "
                    "388 "
                    f"{free:>6} \n")
    return "".join(rows)
