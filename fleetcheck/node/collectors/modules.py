"""Runs on the node: cables, their modules and the ports that hold them: RDMA devices by mlxlink, interfaces by ethtool."""

import re
from typing import Any, Dict

from fleetcheck.node.collectors.counted import at_once, excerpt
from fleetcheck.node.collectors.mlxlink import port
from fleetcheck.node.collectors.values import last, names, number, output, text, uptime
from fleetcheck.node.host import Host

READS = (
    ("/sys/class/infiniband", "any user"),
    ("/sys/class/net", "any user"),
    ("mlxlink", "root"),
    ("mstlink", "root"),
    ("ethtool -i", "any user"),
    ("ethtool -m", "root"),
    ("/proc/uptime", "any user"),
)

IB, NET = "/sys/class/infiniband", "/sys/class/net"
MLXLINK_SECONDS, ETHTOOL_SECONDS, EACH_SECONDS = 20, 8, 60
_FLAG = re.compile(r"(alarm|warning)(?: \(\w+ \d+\))?$")
"""``Laser rx power low alarm (Channel 2)``; the lines that end in threshold hold numbers."""


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{devices: {mlx5_0: …}, interfaces: {eth0: …}}; a host without RDMA has no devices, which is an answer."""
    devices, interfaces = names(host, IB), names(host, NET)
    if isinstance(devices, dict) and "no such file" in devices["absent"]:
        devices = []
    if isinstance(interfaces, list):
        interfaces = [name for name in interfaces if host.exists("%s/%s/device" % (NET, name))]
    return {
        "devices": devices if isinstance(devices, dict) else at_once(devices, lambda name: device(host, name), EACH_SECONDS),
        "interfaces": interfaces if isinstance(interfaces, dict)
        else at_once(interfaces, lambda name: interface(host, name), EACH_SECONDS),
        "uptime_seconds": uptime(host),
    }


def device(host: Host, name: str) -> Dict[str, Any]:
    """One RDMA device: its PCIe link, and what mlxlink tells of port and module."""
    above = "%s/%s/device" % (IB, name)
    pci = last(host, above)
    return dict(
        port(asked(host, name, pci)),
        pci=pci,
        firmware=text(host, "%s/%s/fw_ver" % (IB, name)),
        width=number(host, above + "/current_link_width"),
        speed=text(host, above + "/current_link_speed"),
        maximum_speed=text(host, above + "/max_link_speed"),
    )


def asked(host: Host, name: str, pci: Any) -> Any:
    """What mlxlink printed, or mstlink where only that is installed; both know devices that udev renamed by PCI address only."""
    target = pci if isinstance(pci, str) and not re.match(r"mlx5_\d+$", name) else name
    said = output(host, ["mlxlink", "-d", target, "-m", "-c", "--json"], MLXLINK_SECONDS)
    if not str(said.get("absent")).startswith("program not found"):
        return said
    other = output(host, ["mstlink", "-d", target, "-m", "-c", "--json"], MLXLINK_SECONDS)
    return said if str(other.get("absent")).startswith("program not found") else other


def interface(host: Host, name: str) -> Dict[str, Any]:
    """One physical interface: its firmware, its module, and how often it lost its carrier since boot."""
    about = output(host, ["ethtool", "-i", name], ETHTOOL_SECONDS)
    return {
        "driver": last(host, "%s/%s/device/driver" % (NET, name)),
        "carrier_losses": number(host, "%s/%s/carrier_down_count" % (NET, name)),
        "firmware": firmware(about),
        "module": eeprom(output(host, ["ethtool", "-m", name], ETHTOOL_SECONDS)),
    }


def firmware(said: Dict[str, Any]) -> Any:
    """The line ``firmware-version`` of ethtool -i, without the board's id."""
    if "absent" in said:
        return said
    found = re.search(r"^firmware-version: *(\S.*?)(?: \(\w+\))? *$", said["stdout"], re.MULTILINE)
    if found and found.group(1) != "N/A":
        return found.group(1)
    return {"absent": "ethtool -i told no firmware-version: %s" % excerpt(said)}


def eeprom(said: Dict[str, Any]) -> Dict[str, Any]:
    """Temperature and the alarms that are on, by ethtool -m; a port without a module, or a copper cable, tells none."""
    if "absent" in said:
        return {"temperature_celsius": said, "alarms": said}
    if said["status"] != 0:
        why = {"absent": "ethtool -m ended with %d: %s" % (said["status"], excerpt(said))}
        return {"temperature_celsius": why, "alarms": why}
    rows = dict(re.findall(r"^\s*([^:\n]+?)\s*:\s*(.*?)\s*$", said["stdout"], re.MULTILINE))
    celsius = re.match(r"(-?\d+(?:\.\d+)?) degrees C", rows.get("Module temperature", ""))
    rows = {re.sub(r" +", " ", name): value for name, value in rows.items()}
    flags = {name: value for name, value in rows.items() if _FLAG.search(name)}
    odd = sorted(name for name, value in flags.items() if value not in ("On", "Off"))
    return {
        "temperature_celsius": float(celsius.group(1)) if celsius else {"absent": "the module tells no temperature"},
        "alarms": {"absent": "%s is %.20r" % (odd[0], flags[odd[0]])} if odd
        else sorted(name for name, value in flags.items() if value == "On" and "alarm" in name) if flags
        else {"absent": "the module tells no alarms"},
    }
