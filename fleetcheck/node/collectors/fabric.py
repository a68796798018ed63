"""Runs on the node: fabric manager's version and log, and whether IMEX is ready."""

import re
from typing import Any, Dict, List

from fleetcheck.node.collectors.values import output
from fleetcheck.node.host import Host, absent

READS = (
    ("nv-fabricmanager --version", "any user"),
    ("/var/log/fabricmanager.log*", "root or group adm"),
    ("nvidia-imex-ctl -q", "any user"),
)

LOG = "/var/log/fabricmanager.log"
TAIL_BYTES = 4 << 20
VERSION = re.compile(r"\b(\d{3,4}\.\d+(?:\.\d+)?)\b")
START = re.compile(r"Fabric Manager version \S+ is running", re.IGNORECASE)
STATE = re.compile(r"(?:^|[:=]) *([A-Z][A-Z_]{3,30}) *$", re.MULTILINE)
"""A state has its line to itself, or ends it; capitals within a sentence (IMEX, ERROR) are none."""
TOPOLOGY = re.compile(r"^.*(?:don't|do not|doesn't|does not) match with any supported.*topology.*$", re.MULTILINE | re.IGNORECASE)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{manager_version, topology_errors, imex}: of the programs this node has to run; all where nobody says which."""
    wanted = settings.get("fabric", ("manager", "imex"))
    unasked = {"absent": "not asked: the profile needs none on this node"}
    return {
        "manager_version": version(host) if "manager" in wanted else unasked,
        "topology_errors": topology_errors(host) if "manager" in wanted else unasked,
        "imex": imex(host) if "imex" in wanted else unasked,
    }


def version(host: Host) -> Any:
    """The number in ``nv-fabricmanager --version``; packages add suffixes of their own."""
    said = output(host, ["nv-fabricmanager", "--version"], 10)
    if "absent" in said:
        return said
    found = VERSION.search(said["stdout"])
    return found.group(1) if found else {"absent": "nv-fabricmanager --version: no version: %.80r" % (said["stdout"] or said["stderr"])}


def topology_errors(host: Host) -> Any:
    """Lines of its log since its last start that say it knows no such topology. A log without a start tells nothing."""
    latest = tail(host, LOG)
    if isinstance(latest, dict):
        return latest
    text = latest if START.search(latest) else joined(tail(host, LOG + ".1"), latest)
    starts = list(START.finditer(text))
    if not starts and not TOPOLOGY.search(text):
        return {"absent": "no start of fabric manager in %s" % LOG}
    return [line.strip()[-300:] for line in TOPOLOGY.findall(text[starts[-1].end() if starts else 0:])][:5]


def joined(before: Any, after: str) -> str:
    """Two parts of a log that was rotated; the earlier one may be gone."""
    return after if isinstance(before, dict) else before + after


def tail(host: Host, path: str) -> Any:
    """The last part of a log."""
    try:
        with open(host.path(path), "rb") as log:
            log.seek(0, 2)
            log.seek(max(log.tell() - TAIL_BYTES, 0))
            return log.read(TAIL_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return absent(OSError(error.errno, error.strerror, path))


def imex(host: Host) -> Any:
    """The state that ``nvidia-imex-ctl -q`` names: READY, UNAVAILABLE, …"""
    said = output(host, ["nvidia-imex-ctl", "-q"], 10)
    if "absent" in said:
        return said
    words: List[str] = STATE.findall(said["stdout"])
    if words:
        return words[0]
    return {"absent": "nvidia-imex-ctl -q: no state: %.120r" % (said["stdout"].strip() or said["stderr"].strip())}
