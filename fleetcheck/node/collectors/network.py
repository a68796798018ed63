"""Runs on the node: each network interface as sysfs shows it, its counters read twice."""

from typing import Any, Dict

from fleetcheck.node.collectors.values import last, names, number, numbers, text, twice
from fleetcheck.node.host import Host

NET = "/sys/class/net"


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{interfaces: {name: …}, counters: two samples of {name: {counter: total}}}."""
    found = names(host, NET)
    if isinstance(found, dict):
        return {"interfaces": found, "counters": found}
    interfaces = [name for name in found if host.exists("%s/%s/operstate" % (NET, name))]  # bonding_masters is a file
    counters = twice(lambda: {name: numbers(host, "%s/%s/statistics" % (NET, name)) for name in interfaces})
    return {"interfaces": {name: interface(host, name) for name in interfaces}, "counters": counters}


def interface(host: Host, name: str) -> Dict[str, Any]:
    """One interface. Speed and carrier cannot be read (EINVAL) while it is down; speed is -1 where there is none."""
    folder = "%s/%s" % (NET, name)
    return {
        "operstate": text(host, folder + "/operstate"), "carrier": number(host, folder + "/carrier"),
        "speed_mbits_per_second": speed(host, folder), "duplex": text(host, folder + "/duplex"), "mtu_bytes": number(host, folder + "/mtu"),
        "carrier_changes": number(host, folder + "/carrier_changes"), "address": text(host, folder + "/address"),
        "physical": host.exists(folder + "/device"), "driver": last(host, folder + "/device/driver"), "pci": last(host, folder + "/device"),
        "bond": last(host, folder + "/master"),
    }


def speed(host: Host, folder: str) -> Any:
    """Mbit/s; the kernel's -1 (or its unsigned twin) means unknown."""
    said = number(host, folder + "/speed")
    return {"absent": "the link has no speed now: %s/speed" % folder} if said in (-1, 4294967295) else said
