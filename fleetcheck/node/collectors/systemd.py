"""Runs on the node: what systemd says of a unit, and which units failed."""

import re
from typing import Any, Dict

from fleetcheck.node.collectors.values import as_number, output
from fleetcheck.node.host import Host

READS = (
    ("systemctl is-active", "any user"),
    ("systemctl show", "any user"),
    ("systemctl --failed", "any user"),
)

SECONDS = 5.0
WORDS = ("active", "reloading", "inactive", "failed", "activating", "deactivating", "maintenance", "refreshing", "unknown")
PROPERTIES = ("LoadState", "UnitFileState", "Result", "NRestarts", "LimitMEMLOCK", "LimitNOFILE")
KINDS = "service|socket|mount|automount|swap|target|path|timer|slice|scope|device"
UNIT = re.compile(r"^\W{0,3}([\w@:.\\-]+\.(?:%s))\s+\S+\s+failed\s" % KINDS, re.MULTILINE)
LISTED = re.compile(r"^(\d+) (?:loaded )?units? listed", re.MULTILINE)


def unit(host: Host, name: str) -> Dict[str, Any]:
    """One unit: {active, load, enabled, result, restarts, memlock_bytes, open_files}; no limit is -1."""
    shown = properties(host, name)
    return {
        "active": active(host, name),
        "load": shown["LoadState"],
        "enabled": shown["UnitFileState"],
        "result": shown["Result"],
        "restarts": as_number(shown["NRestarts"], "NRestarts"),
        "memlock_bytes": unlimited(shown["LimitMEMLOCK"], "LimitMEMLOCK"),
        "open_files": unlimited(shown["LimitNOFILE"], "LimitNOFILE"),
    }


def active(host: Host, name: str) -> Any:
    """The word of ``systemctl is-active``; its exit status follows the word."""
    said = output(host, ["systemctl", "is-active", name], SECONDS)
    if "absent" in said:
        return said
    word = said["stdout"].strip()
    return word if word in WORDS else {"absent": "systemctl is-active %s: %.80r %.200s" % (name, word, said["stderr"].strip())}


def properties(host: Host, name: str) -> Dict[str, Any]:
    """{property: text} of PROPERTIES; each absent when it was not told."""
    said = output(host, ["systemctl", "show", name, "--property=" + ",".join(PROPERTIES)], SECONDS)
    if "absent" in said or said["status"] != 0:
        gap = {"absent": said.get("absent") or "systemctl show %s: %.200s" % (name, said["stderr"].strip() or "status %d" % said["status"])}
        return {key: gap for key in PROPERTIES}
    rows = dict(re.findall(r"^(\w+)=(.*)$", said["stdout"], re.MULTILINE))
    return {key: rows.get(key, {"absent": "systemctl show %s: no %s" % (name, key)}) for key in PROPERTIES}


def unlimited(value: Any, what: str) -> Any:
    """A limit in numbers; infinity is -1."""
    if value in ("infinity", "18446744073709551615"):
        return -1
    said = as_number(value, what)
    return said if isinstance(said, dict) or 0 <= said < 1 << 64 else {"absent": "no limit: %s: %d" % (what, said)}


def failed(host: Host) -> Any:
    """Names of the failed units; the count that systemctl adds below proves that the list is whole."""
    said = output(host, ["systemctl", "--failed", "--plain", "--no-pager"], SECONDS)
    if "absent" in said:
        return said
    found, listed = UNIT.findall(said["stdout"]), LISTED.search(said["stdout"])
    if said["status"] != 0 or not listed or int(listed.group(1)) != len(found):
        text = said["stderr"].strip() or said["stdout"].strip()
        return {"absent": "systemctl --failed: %d units and no such count: %.120r" % (len(found), text)}
    return found
