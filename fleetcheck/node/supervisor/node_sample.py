"""Runs on the node: what the kernel counts beside the GPUs: processor time, memory, PCIe and memory controller errors."""

import re
from typing import Any, Dict, List

from fleetcheck.node.collectors import pci
from fleetcheck.node.collectors.values import number
from fleetcheck.node.host import Host

Leaves = Dict[str, Any]

EDAC = "/sys/devices/system/edac/mc/"


def processors(host: Host) -> Leaves:
    """{busy, all: jiffies since boot, load: of one minute, available_bytes}."""
    found: Leaves = {}
    try:
        ticks = [int(word) for word in host.read("/proc/stat", 8 << 20).split("\n", 1)[0].split()[1:9]]
        found.update(all=sum(ticks), busy=sum(ticks) - ticks[3] - ticks[4])
        found["load"] = float(host.read("/proc/loadavg").split()[0])
        memory = re.search(r"^MemAvailable: +(\d+) kB", host.read("/proc/meminfo"), re.MULTILINE)
        found["available_bytes"] = int(memory.group(1)) * 1024 if memory else {"absent": "no MemAvailable"}
    except (OSError, ValueError, IndexError) as error:
        found.setdefault("load", {"absent": str(error)})
    return found


def functions(host: Host) -> List[Leaves]:
    """The PCI functions worth watching: {address, kind, port}."""
    try:
        names = host.list(pci.DEVICES)
    except OSError:
        return []
    kinds = [(name, pci.kind_of(host, name)) for name in names]
    return [{"address": name, "kind": kind, "port": pci.port_of(host, name)} for name, kind in kinds if kind]


def aer(host: Host, watched: List[Leaves]) -> Leaves:
    """{address: {correctable, nonfatal, fatal}} of the functions and the ports above them."""
    addresses = {each["address"] for each in watched} | {each["port"] for each in watched if each["port"]}
    return {address: dict(pci.uncorrectable(host, address), correctable=pci.correctable(host, address))
            for address in sorted(addresses)}


def edac(host: Host) -> Leaves:
    """{mc0: {corrected, uncorrected}} of every memory controller."""
    return {path.split("/")[-1]: {"corrected": number(host, path + "/ce_count"), "uncorrected": number(host, path + "/ue_count")}
            for path in host.glob(EDAC + "mc[0-9]*")}
