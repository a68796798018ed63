"""Runs on the node: RDMA ports as sysfs shows them, their counters read twice."""

import re
from typing import Any, Dict, List

from fleetcheck.node.collectors.values import count, last, names, numbers, text, twice, uptime
from fleetcheck.node.host import Host

READS = (
    ("/sys/class/infiniband", "any user"),
    ("/proc/uptime", "any user"),
)

IB = "/sys/class/infiniband"


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{devices: {mlx5_0: {ports: {1: …}}}, counters: two samples of {mlx5_0/1: {counter: total}}}."""
    devices = names(host, IB)
    if isinstance(devices, dict):
        return {"devices": devices, "counters": devices, "uptime_seconds": uptime(host)}
    ports = [
        path[len(IB) + 1 :].replace("/ports/", "/")
        for name in devices
        for path in host.glob("%s/%s/ports/[0-9]*" % (IB, name))
    ]
    return {
        "devices": {name: device(host, name, ports) for name in devices},
        "uptime_seconds": uptime(host),
        "counters": twice(lambda: {port: counters(host, port) for port in ports}),
    }


def device(host: Host, name: str, ports: List[str]) -> Dict[str, Any]:
    """One device and its ports."""
    folder = "%s/%s" % (IB, name)
    said = {
        key: text(host, "%s/%s" % (folder, key))
        for key in ("fw_ver", "board_id", "hca_type", "node_guid", "node_type", "sys_image_guid")
    }
    return dict(
        said,
        pci=last(host, folder + "/device"),
        mtu_bytes=mtu(host, folder + "/device/net"),
        ports={port.partition("/")[2]: state(host, port) for port in ports if port.startswith(name + "/")},
    )


def mtu(host: Host, folder: str) -> Any:
    """The smallest of the device's network interfaces; a device without any carries no IP, which is an answer."""
    told = [count(host, "%s/%s/mtu" % (folder, name)) for name in (host.list(folder) if host.exists(folder) else [])]
    unread = [one for one in told if isinstance(one, dict)]
    return unread[0] if unread else min(told) if told else {"absent": "no interface"}


def state(host: Host, port: str) -> Dict[str, Any]:
    """One port: ``4: ACTIVE`` as number and word, the rate in Gbit/s."""
    folder = "%s/%s" % (IB, port.replace("/", "/ports/"))
    return {
        "state": word(text(host, folder + "/state")),
        "physical_state": word(text(host, folder + "/phys_state")),
        "rate_gbits_per_second": rate(text(host, folder + "/rate")),
        "link_layer": text(host, folder + "/link_layer"),
        "lid": text(host, folder + "/lid"),
        "sm_lid": text(host, folder + "/sm_lid"),
        "gid": text(host, folder + "/gids/0"),
    }


def word(said: Any) -> Any:
    """The word of ``4: ACTIVE``."""
    found = re.match(r"\d+:\s*(\S.*)$", said) if isinstance(said, str) else None
    return found.group(1) if found else said if isinstance(said, dict) else {"absent": "not a port state: %.60r" % said}


def rate(said: Any) -> Any:
    """The number of ``400 Gb/sec (4X NDR)``."""
    found = re.match(r"(\d+(?:\.\d+)?) Gb/sec", said) if isinstance(said, str) else None
    return (
        float(found.group(1)) if found else said if isinstance(said, dict) else {"absent": "not a rate: %.60r" % said}
    )


def counters(host: Host, port: str) -> Any:
    """The port's error counters and those of the device's hardware, by name."""
    folder = "%s/%s" % (IB, port.replace("/", "/ports/"))
    return {kind: numbers(host, "%s/%s" % (folder, kind)) for kind in ("counters", "hw_counters")}
