"""Runs on the node: the management controller's event log taken apart, as ``ipmitool sel elist`` prints it."""

import calendar
import re
import time
from typing import Any, Dict, Optional

KEPT = 400
FORMATS = tuple(day + clock for clock in (" %H:%M:%S", " %I:%M:%S %p") for day in ("%m/%d/%Y", "%m/%d/%y"))
_CLOCK = re.compile(r"(\d{2}/\d{2}/\d{2,4})[ |]+(\d{2}:\d{2}:\d{2}(?: [AP]M)?)")
_HEAD = re.compile(r"\s*([0-9a-f]+)\s*\|")
_PANIC = re.compile(r"\s*([0-9a-f]+) \| Linux kernel panic: (.*)$")
DIRECTIONS = ("Asserted", "Deasserted")


def event_log(said: Dict[str, Any], clock: Dict[str, Any]) -> Dict[str, Any]:
    """{entries, unreadable, left_out, now_seconds}. Times are the controller's own clock, which need not be the node's: only
    differences to ``now_seconds``, the same clock, mean anything."""
    if "absent" in said:
        return {"entries": said, "unreadable": [], "left_out": 0, "now_seconds": now(clock)}
    lines = [line for line in said["stdout"].split("\n") if line.strip()]
    if not lines and "no entries" in said["stderr"] or lines[:1] == ["SEL has no entries"]:
        return {"entries": [], "unreadable": [], "left_out": 0, "now_seconds": now(clock)}
    found = [entry(line) for line in lines]
    if not any(found):
        silent = {"absent": "ipmitool sel elist printed no entry: %.60r" % said["stdout"]}
        return {"entries": silent, "unreadable": [], "left_out": 0, "now_seconds": now(clock)}
    entries = [each for each in found if each]
    return {
        "entries": entries[-KEPT:],
        "unreadable": [line[:80] for line, each in zip(lines, found) if not each][:20],
        "left_out": max(0, len(entries) - KEPT),
        "now_seconds": now(clock),
    }


def entry(line: str) -> Dict[str, Any]:
    """One line; empty when it is no entry.

    ``3 | 04/12/2026 | 10:22:33 | Power Supply #0x51 | Power Supply AC lost | Asserted``; before the controller knew the time
    ``Pre-Init`` and a count stand in place of date and time; records of vendors have no direction, and what the kernel writes when it
    panics neither (IPMI_PANIC_STRING). Some boards put a bar into the
    event itself: ``Uncorrectable ECC (UnCorrectable ECC |  DIMMA1)``.
    """
    panic = _PANIC.match(line)
    if panic:
        nowhen = {"absent": "the kernel writes its panic without a time"}
        return {"id": panic.group(1), "seconds": nowhen, "sensor": "Linux kernel panic", "event": panic.group(2), "direction": ""}
    words = [word.strip() for word in line.split("|")]
    if not _HEAD.match(line) or len(words) < 4:
        return {}
    oem = any(word.startswith("OEM record") for word in words)
    if oem:
        return {"id": words[0], "seconds": moment(line), "sensor": "OEM record", "event": "", "direction": ""}
    places = [place for place, word in enumerate(words) if place > 4 and word in DIRECTIONS]
    if not places:
        return {}
    event = " | ".join(words[4 : places[0]])
    return {"id": words[0], "seconds": moment(line), "sensor": words[3], "event": event, "direction": words[places[0]]}


def moment(text: str) -> Any:
    """Seconds of the controller's clock, or absent for an entry from before it knew the time."""
    found = _CLOCK.search(text)
    seconds = parsed("%s %s" % found.groups()) if found else None
    return {"absent": "no time: %.60s" % text.strip()} if seconds is None else seconds


def parsed(text: str) -> Optional[int]:
    """Month/day/year as the C locale writes it."""
    for form in FORMATS:
        try:
            return calendar.timegm(time.strptime(text, form))
        except ValueError:
            continue
    return None


def now(clock: Dict[str, Any]) -> Any:
    """What time the controller thinks it is."""
    return clock if "absent" in clock else moment(clock["stdout"])
