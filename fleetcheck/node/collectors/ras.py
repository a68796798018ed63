"""Runs on the node: what the daemons that keep hardware errors recorded, each in the views it has."""

from typing import Any, Dict

from fleetcheck.node.collectors.kernel_log import boot_time
from fleetcheck.node.collectors.values import output
from fleetcheck.node.host import Host

READS = (
    ("ras-mc-ctl --errors", "root"),
    ("ras-mc-ctl --summary", "root"),
    ("mcelog --client", "root"),
    ("/proc/stat", "any user"),
)

SECONDS = 20.0


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """The daemons' own words; absent for one that is not installed."""
    return {
        "errors": output(host, ["ras-mc-ctl", "--errors"], SECONDS),
        "summary": output(host, ["ras-mc-ctl", "--summary"], SECONDS),
        "mcelog": output(host, ["mcelog", "--client"], SECONDS),
        "boot_time_seconds": boot_time(host),
    }
