"""Runs on the node: each network interface as sysfs shows it, its counters read twice."""

import re
from typing import Any, Dict

from fleetcheck.node.collectors.values import count, last, names, number, numbers, output, text, twice, uptime
from fleetcheck.node.host import Host

READS = (
    ("/sys/class/net", "any user"),
    ("/proc/net/bonding", "any user"),
    ("/proc/uptime", "any user"),
    ("ethtool -S", "any user"),
)

NET = "/sys/class/net"
ERRORS = re.compile(r"err|crc|symbol|fcs|discard|drop|undersize|link_down|corrected_bits|uncorrect")


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{interfaces: {name: …}, counters and driver_counters: two samples of {name: {counter: total}}}."""
    found = names(host, NET)
    if isinstance(found, dict):
        return {"interfaces": found, "counters": found, "driver_counters": found, "uptime_seconds": uptime(host), "bonds": bonds(host)}
    interfaces = [name for name in found if host.exists("%s/%s/operstate" % (NET, name))]  # bonding_masters is a file
    samples = twice(
        lambda: [
            {name: numbers(host, "%s/%s/statistics" % (NET, name)) for name in interfaces},
            {name: driver_counters(host, name) for name in interfaces if host.exists("%s/%s/device" % (NET, name))},
        ]
    )
    return {
        "interfaces": {name: interface(host, name) for name in interfaces},
        "uptime_seconds": uptime(host),
        "bonds": bonds(host),
        "counters": dict(samples, first=samples["first"][0], second=samples["second"][0]),
        "driver_counters": dict(samples, first=samples["first"][1], second=samples["second"][1]),
    }


def bonds(host: Host) -> Dict[str, Any]:
    """{bond: {member: MII status}} of every bonded interface; none where there is no bond."""
    return {path.rpartition("/")[2]: members(host, path) for path in host.glob("/proc/net/bonding/*")}


def members(host: Host, path: str) -> Any:
    """The members of one bond and what the kernel thinks of their links."""
    said = host.read_or_absent(path)
    if isinstance(said, dict):
        return said
    return dict(re.findall(r"^Slave Interface: (\S+)\nMII Status: (.*)$", said, re.MULTILINE))


def driver_counters(host: Host, name: str) -> Any:
    """The driver's own error counters by ``ethtool -S``; none for a driver that keeps none."""
    said = output(host, ["ethtool", "-S", name], 5)
    if "absent" in said:
        return said
    if said["status"] != 0:
        return (
            {}
            if re.search("no stats available|Operation not supported", said["stderr"])
            else {"absent": "ethtool -S %s: %s" % (name, said["stderr"].strip())}
        )
    rows = re.findall(r"^\s*([\w.]+):\s*(\d{1,20})\s*$", said["stdout"], re.MULTILINE)
    if not said["stdout"].startswith("NIC statistics:"):
        return {"absent": "ethtool -S %s: not NIC statistics: %.60r" % (name, said["stdout"])}
    return {key: int(value) for key, value in rows if ERRORS.search(key)}


def interface(host: Host, name: str) -> Dict[str, Any]:
    """One interface. Speed and carrier cannot be read (EINVAL) while it is down; speed is -1 where there is none."""
    folder = "%s/%s" % (NET, name)
    return {
        "operstate": text(host, folder + "/operstate"),
        "carrier": count(host, folder + "/carrier"),
        "speed_mbits_per_second": speed(host, folder),
        "duplex": text(host, folder + "/duplex"),
        "mtu_bytes": count(host, folder + "/mtu"),
        "carrier_changes": count(host, folder + "/carrier_changes"),
        "address": text(host, folder + "/address"),
        "physical": host.exists(folder + "/device"),
        "driver": last(host, folder + "/device/driver"),
        "pci": last(host, folder + "/device"),
        "bond": last(host, folder + "/master"),
    }


def speed(host: Host, folder: str) -> Any:
    """Mbit/s; the kernel's -1 (or its unsigned twin) means unknown."""
    said = number(host, folder + "/speed")
    return {"absent": "the link has no speed now: %s/speed" % folder} if said in (-1, 4294967295) else plausible(said, folder)


def plausible(said: Any, folder: str) -> Any:
    """No link carries less than nothing or more than 10 Tbit/s."""
    return said if isinstance(said, dict) or 0 <= said <= 10_000_000 else {"absent": "no speed: %s/speed: %d" % (folder, said)}
