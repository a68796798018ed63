"""Runs on the node: what keeps its clock right, and what the clock says."""

import time
from typing import Any, Dict

from fleetcheck.node.collectors.values import output, text
from fleetcheck.node.host import Host

READS = (
    ("chronyc -n tracking", "any user"),
    ("chronyc -n sources", "any user"),
    ("timedatectl show", "any user"),
    ("timedatectl timesync-status", "any user"),
    ("ntpq -pn", "any user"),
    ("/sys/devices/system/clocksource/clocksource0", "any user"),
)

SOURCES = "/sys/devices/system/clocksource/clocksource0"


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """The clock daemons' own words (C locale), the clock source, and the wall clock at one moment."""
    return {
        "wall_clock_seconds": wall_clock(host),
        "chrony_tracking": output(host, ["chronyc", "-n", "tracking"], 10),
        "chrony_sources": output(host, ["chronyc", "-n", "sources"], 10),
        "timedatectl": output(host, ["timedatectl", "show"], 10),
        "timesync": output(host, ["timedatectl", "timesync-status", "--no-pager"], 10),
        "ntpd": output(host, ["ntpq", "-pn"], 10),
        "clocksource": text(host, SOURCES + "/current_clocksource"),
        "clocksources": text(host, SOURCES + "/available_clocksource"),
    }


def wall_clock(host: Host) -> float:
    """Seconds since 1970 by the node's own date, else by this process."""
    try:
        return float(host.run(["date", "+%s.%N"], 5).stdout)
    except (OSError, ValueError):
        return time.time()
