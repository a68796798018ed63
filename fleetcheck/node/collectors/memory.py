"""Runs on the node: memory size and use, swap, error counts of the memory controllers, fragmentation."""

import re
from typing import Any, Dict

from fleetcheck.node.collectors.values import count, table, text, twice
from fleetcheck.node.host import Host

READS = (
    ("/proc/meminfo", "any user"),
    ("/proc/swaps", "any user"),
    ("/proc/buddyinfo", "any user"),
    ("/sys/devices/system/node", "any user"),
    ("/sys/devices/system/edac/mc", "any user"),
    ("/sys/kernel/mm/transparent_hugepage", "any user"),
)

CONTROLLERS = "/sys/devices/system/edac/mc"
PER_DIMM = ("dimm_ce_count", "dimm_ue_count")


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """meminfo in bytes; EDAC counts sampled twice."""
    return {
        "info_bytes": meminfo(host, "/proc/meminfo"),
        "nodes_bytes": {
            path.split("/")[-2]: meminfo(host, path)
            for path in host.glob("/sys/devices/system/node/node[0-9]*/meminfo")
        },
        "swaps": swaps(host),
        "buddy": buddy(host),
        "edac": edac(host),
        "transparent_hugepages": text(host, "/sys/kernel/mm/transparent_hugepage/enabled"),
    }


def meminfo(host: Host, path: str) -> Any:
    """{name: bytes, or pages where the kernel counts pages}."""
    said = host.read_or_absent(path)
    if isinstance(said, dict):
        return said
    rows = re.findall(r"^(?:Node \d+ )?([\w()]+):\s+(\d+)( kB)?\s*$", said, re.MULTILINE)
    return {name: int(value) * (1024 if unit else 1) for name, value, unit in rows} or {"absent": "no sizes in " + path}


def swaps(host: Host) -> Any:
    """[{name, kind, bytes}] of /proc/swaps; the head line must be there."""
    said = host.read_or_absent("/proc/swaps")
    if isinstance(said, dict):
        return said
    rows = table(said)
    if not rows or rows[0][0] != "Filename":
        return {"absent": "no head line in /proc/swaps"}
    return [
        {"name": row[0], "kind": row[1], "bytes": int(row[2]) * 1024}
        for row in rows[1:]
        if len(row) >= 3 and row[2].isdigit()
    ]


def buddy(host: Host) -> Any:
    """[{node, zone, free}]: free blocks by order, order 0 first."""
    said = host.read_or_absent("/proc/buddyinfo")
    if isinstance(said, dict):
        return said
    rows = re.findall(r"^Node\s+(\d+), zone\s+(\S+)\s+([\d ]+?)\s*$", said, re.MULTILINE)
    return [
        {"node": int(node), "zone": zone, "free": [int(word) for word in free.split()]} for node, zone, free in rows
    ] or {"absent": "no zones in /proc/buddyinfo"}


def edac(host: Host) -> Any:
    """Error counts per memory controller and per DIMM, twice; absent when no EDAC driver is loaded: unknown, not zero."""
    controllers = host.glob(CONTROLLERS + "/mc[0-9]*")
    if not controllers:
        return {"absent": "no memory controller below %s (is an EDAC driver loaded?)" % CONTROLLERS}
    return twice(lambda: {path.rpartition("/")[2]: controller(host, path) for path in controllers})


def controller(host: Host, path: str) -> Dict[str, Any]:
    """One memory controller: ce_count, ue_count and the DIMMs that counted."""
    dimms = {}
    for dimm in host.glob(path + "/dimm[0-9]*") + host.glob(path + "/rank[0-9]*"):
        counted = {name[5:]: count(host, "%s/%s" % (dimm, name)) for name in PER_DIMM}
        dimms[dimm.rpartition("/")[2]] = dict(
            counted, label=text(host, dimm + "/dimm_label"), location=text(host, dimm + "/dimm_location")
        )
    counted = {name: [count(host, "%s/%s%s" % (path, name, kind)) for kind in ("_count", "_noinfo_count")] for name in ("ce", "ue")}
    return {"ce_count": counted["ce"][0], "ue_count": higher(*counted["ue"]), "dimms": dimms}


def higher(total: Any, unplaced: Any) -> Any:
    """The errors of a controller; those that it could not lay to a DIMM may be counted apart."""
    return max(total, unplaced) if isinstance(total, int) and isinstance(unplaced, int) else total
