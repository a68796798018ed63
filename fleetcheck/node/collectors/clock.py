"""Runs on the node: what keeps its clock right, and what the clock says."""

import time
from typing import Any, Dict

from fleetcheck.node.collectors.values import output, text
from fleetcheck.node.host import Host, absent

READS = (
    ("chronyc -n tracking", "any user"),
    ("chronyc -n sources", "any user"),
    ("timedatectl show", "any user"),
    ("timedatectl timesync-status", "any user"),
    ("ntpq -pn", "any user"),
    ("pmc -u -b 0", "root"),
    ("journalctl -t ptp4l -t phc2sys", "root"),
    ("/sys/devices/system/clocksource/clocksource0", "any user"),
)

PTP_QUESTIONS = ("PORT_DATA_SET", "TIME_STATUS_NP", "CURRENT_DATA_SET")
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
        "ptp": ptp(host),
        "ptp_journal": ptp_journal(host),
        "clocksource": text(host, SOURCES + "/current_clocksource"),
        "clocksources": text(host, SOURCES + "/available_clocksource"),
    }


def ptp(host: Host) -> Any:
    """What ptp4l says of its ports, its grandmaster and its offset, one question after the other; absent without linuxptp."""
    said = [output(host, ["pmc", "-u", "-b", "0", "GET " + name], 5) for name in PTP_QUESTIONS]
    told = [each for each in said if each.get("status") == 0]
    return dict(told[0], stdout="".join(each["stdout"] for each in told)) if told else said[0]


def ptp_journal(host: Host) -> Any:
    """The last lines of linuxptp's programs; of a node without them the journal is not searched."""
    try:
        host.which("pmc")
    except OSError as error:
        return absent(error)
    recent = ["-q", "--no-pager", "-o", "cat", "--since", "-10min", "-n", "40"]
    return output(host, ["journalctl"] + recent + ["-t", "ptp4l", "-t", "phc2sys"], 10)


def wall_clock(host: Host) -> float:
    """Seconds since 1970 by the node's own date, else by this process."""
    try:
        return float(host.run(["date", "+%s.%N"], 5).stdout)
    except (OSError, ValueError):
        return time.time()
