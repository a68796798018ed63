"""Runs on the node: who answers. The machine's name, serials and boot, the user and Python that ran the collectors."""

import os
import platform
from typing import Any, Dict

from fleetcheck.node.host import Host, absent

SERIALS = {
    "product": "/sys/class/dmi/id/product_serial",
    "chassis": "/sys/class/dmi/id/chassis_serial",
    "board": "/sys/class/dmi/id/board_serial",
}


def runtime(host: Host) -> Dict[str, Any]:
    """The ``runtime`` part of a reply; serials usually need root and are absent otherwise."""
    return {
        "hostname": hostname(host),
        "boot_id": _line(host, "/proc/sys/kernel/random/boot_id"),
        "serials": {name: _line(host, path) for name, path in SERIALS.items()},
        "uid": os.geteuid(),
        "python": platform.python_version(),
        "machine": os.uname().machine,
        "cpu_seconds": sum(os.times()[:4]),
    }


def hostname(host: Host) -> str:
    """The node's own name."""
    try:
        return host.read("/proc/sys/kernel/hostname").strip()
    except OSError:
        return os.uname().nodename


def _line(host: Host, path: str) -> Any:
    try:
        return host.read(path).strip()
    except OSError as error:
        return absent(error)
