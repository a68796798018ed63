"""Runs on the node: the PCI functions a GPU node lives by (GPUs, NVSwitches, NICs, NVMe), from sysfs alone.

Shape: seconds between the two readings of correctable errors; functions, each with link, driver, AER counters, port.
"""

import re
import time
from typing import Any, Dict

from fleetcheck.node.collectors import acs
from fleetcheck.node.host import Host, absent

READS = (
    ("/sys/bus/pci/devices/*/config", "root"),
    ("/sys/bus/pci/devices", "any user"),
)

Leaves = Dict[str, Any]

DEVICES = "/sys/bus/pci/devices/"
KINDS = (  # vendor or "" for any, class without its programming interface, what it is here
    ("0x10de", "0x0300", "gpu"),
    ("0x10de", "0x0302", "gpu"),
    ("0x10de", "0x0680", "nvswitch"),
    ("0x15b3", "0x0200", "nic"),
    ("0x15b3", "0x0207", "nic"),
    ("", "0x0108", "nvme"),
)
APART_SECONDS = 1.0
NO_TOTAL = {"absent": "the counter file holds no total"}


def collect(host: Host, settings: Dict[str, Any]) -> Leaves:
    """All functions of interest, with correctable AER counts read twice."""
    names = [name for name in host.list(DEVICES) if kind_of(host, name)]
    began = time.monotonic()
    first = {name: correctable(host, name) for name in names}
    functions = [function(host, name) for name in names]
    if names:
        time.sleep(max(0.0, began + APART_SECONDS - time.monotonic()))
    for each in functions:
        each["aer"]["correctable"] = [first[each["address"]], correctable(host, each["address"])]
    seconds = round(time.monotonic() - began, 3)
    return {"seconds": seconds, "functions": functions, "acs": acs.bridges(host)}


def kind_of(host: Host, name: str) -> str:
    """What a function is to a GPU node; "" for everything else."""
    vendor, code = text(host, name, "vendor"), text(host, name, "class")
    if not isinstance(vendor, str) or not isinstance(code, str):
        return ""
    return next((kind for want, prefix, kind in KINDS if want in ("", vendor) and code.startswith(prefix)), "")


def text(host: Host, name: str, attribute: str) -> Any:
    """One attribute of a function, stripped, or the reason it cannot be read."""
    found = host.read_or_absent(DEVICES + name + "/" + attribute)
    return found.strip() if isinstance(found, str) else found


def number(host: Host, name: str, attribute: str) -> Any:
    """A decimal attribute."""
    found = text(host, name, attribute)
    if not isinstance(found, str):
        return found
    return int(found) if re.match(r"^-?\d+$", found) else {"absent": "%s holds %r" % (attribute, found[:40])}


def function(host: Host, name: str) -> Leaves:
    """One PCI function."""
    port = port_of(host, name)
    config = config_space(host, name)
    return {
        "address": name,
        "kind": kind_of(host, name),
        "class": text(host, name, "class"),
        "vendor": text(host, name, "vendor"),
        "device": text(host, name, "device"),
        "revision": text(host, name, "revision"),
        "all_ones": config if isinstance(config, dict) else all(octet == 0xFF for octet in config),
        "current_width": number(host, name, "current_link_width"),
        "maximum_width": number(host, name, "max_link_width"),
        "current_speed": text(host, name, "current_link_speed"),
        "maximum_speed": text(host, name, "max_link_speed"),
        "numa_node": number(host, name, "numa_node"),
        "driver": driver(host, name),
        "aer": uncorrectable(host, name),
        "port": port or {"absent": "no port above it"},
        "port_aer": uncorrectable(host, port) if port else {"absent": "no port above it"},
    }


def driver(host: Host, name: str) -> Any:
    """The driver bound to a function; "" for none."""
    try:
        return host.link(DEVICES + name + "/driver").rpartition("/")[2]
    except FileNotFoundError:
        return ""
    except OSError as error:
        return absent(error)


def port_of(host: Host, name: str) -> str:
    """The bridge a function hangs from; "" where the bus shows none."""
    try:
        above = host.link(DEVICES + name).rstrip("/").split("/")[-2]
    except (OSError, IndexError):
        return ""
    return above if re.match(r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$", above) else ""


def counters(host: Host, name: str, attribute: str) -> Any:
    """An AER counter file as {error: count} (Documentation/ABI/testing/sysfs-bus-pci-devices-aer_stats)."""
    found = text(host, name, attribute)
    if not isinstance(found, str):
        return found
    rows = re.findall(r"^(\w+)\s+(\d+)$", found, re.MULTILINE)
    total = [count for error, count in rows if error.startswith("TOTAL_ERR")]
    return {error: int(count) for error, count in rows} if total else NO_TOTAL


def correctable(host: Host, name: str) -> Any:
    """The total of correctable errors."""
    found = counters(host, name, "aer_dev_correctable")
    return found if set(found) == {"absent"} else found.get("TOTAL_ERR_COR", NO_TOTAL)


def uncorrectable(host: Host, name: str) -> Leaves:
    """Totals of uncorrectable errors; unsupported requests, which probing an absent register causes, apart."""
    nonfatal, fatal = counters(host, name, "aer_dev_nonfatal"), counters(host, name, "aer_dev_fatal")
    known = set(nonfatal) != {"absent"}
    return {
        "nonfatal": nonfatal.get("TOTAL_ERR_NONFATAL", NO_TOTAL) if known else nonfatal,
        "nonfatal_unsupported_requests": nonfatal.get("UnsupReq", 0) if known else nonfatal,
        "fatal": fatal if set(fatal) == {"absent"} else fatal.get("TOTAL_ERR_FATAL", NO_TOTAL),
    }


def config_space(host: Host, name: str) -> Any:
    """The head of configuration space, or the reason for none."""
    try:
        with open(host.path(DEVICES + name + "/config"), "rb") as config:
            octets = config.read(64)
    except OSError as error:
        return {"absent": (error.strerror or "unreadable").lower() + ": config"}
    return octets or {"absent": "config is empty"}

