"""The management controller's event log: what it says since shortly before this boot. Runs on the controller.

A log that was never cleared holds the faults of years; only entries since the boot window count, by the controller's own clock.
Hardware errors stand whatever comes after them; states (a supply without input, a fan below its limit) end when deasserted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Offender, Part
from fleetcheck.view import Parts, Reading, View

BEFORE_BOOT_SECONDS = 3600.0
"""An error that made the machine reboot is older than the boot it caused; a service visit clears the log."""


@dataclass(frozen=True)
class Kind:
    """What an entry means. state: whether a deasserted entry ends it."""

    name: str
    sensor: re.Pattern[str]
    event: re.Pattern[str]
    state: bool
    severity: str = ""
    action: str = ""


def _kind(name: str, sensor: str, event: str, state: bool, severity: str = "", action: str = "") -> Kind:
    return Kind(name, re.compile(sensor, re.IGNORECASE), re.compile(event, re.IGNORECASE), state, severity, action)


KINDS = (
    _kind("noted", "", r"\bCorrectable", False),
    _kind("hardware", "", r"\bUncorrectable|\bBus Fatal Error|PCI [PS]ERR|NVIDIA_MCA_Error|Fatal NMI|IERR|CATERR|"
          r"Machine Check|Bus Timeout|Bus Degraded|I/O channel check|Thermal Trip|FRB\d|BIST failure|Memory Device Disabled|"
          r"Startup/Init(?:ialization)? failure|Run-time critical stop", False),
    _kind("hardware", r"Watchdog", r"Hard reset|Power (?:down|cycle)", False),
    _kind("hardware", r"Memory", r"\bParity", False),
    _kind("hardware", r"Processor|Memory|Slot|Cable|Interconnect", r"Config(?:uration)? Error|Fault Status", False),
    _kind("supply", r"Power Supply|PSU?\b|PS\d|PWS",
          r"AC lost|AC out-of-range|input lost|Failure detected|Predictive failure|Config Error", True),
    _kind("alarm", r"\bFan|^FAN|Cooling Device", r"Lower Critical|Lower Non-recoverable|Failure|Transition to (?:Critical|Non-recoverable)|"
          r"Device (?:Absent|Removed)", True, "degraded", "replace"),
    _kind("alarm", r"Drive", r"Drive Fault|Predictive Failure", True, "degraded", "replace"),
    _kind("alarm", "", r"(Upper|Lower|Transition to) (Critical|Non-recoverable)", True),
)
"""facebookresearch/gcm check_ipmitool for the hardware errors; IPMI 2.0 specification, tables 42-2 and 42-3, for the words."""


class Entry(View):
    """One entry."""

    __slots__ = ()
    sensor = Reading(str)
    event = Reading(str)
    direction = Reading(str)
    seconds = Reading(int)

    @property
    def kind(self) -> Kind | None:
        """What it means; None for an entry that is no sign of a fault."""
        sensor, event = self.sensor, self.event
        for told in (sensor, event):
            if isinstance(told, Absent):
                raise NotMeasured(told.reason)
        return next((kind for kind in KINDS if kind.sensor.search(sensor) and kind.event.search(event)), None)


class EventLog(View):
    """All entries, oldest first."""

    __slots__ = ("_uptime", "entries")

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__(data.get("event_log"), "event_log")
        self._uptime = View(data, "bmc")
        listed = self.get("entries", list)
        self.entries: Any = listed if isinstance(listed, Absent) else [Entry(raw, "event_log", _part(raw)) for raw in listed]

    def offending(self, name: str) -> list[Offender]:
        """The entries of one kind that count now; NotMeasured when none does and the log could not be read whole."""
        if isinstance(self.entries, Absent):
            raise NotMeasured(self.entries.reason)
        since = self.get("now_seconds", int) - self._uptime.get("uptime_seconds", float) - BEFORE_BOOT_SECONDS
        found = [entry for entry in self._standing(name) if self._time(entry) >= since]
        views = Parts(found, f"of {len(self.entries)} entries", unreadable=self._gaps(since))
        return views.offending(_concern)

    def _standing(self, name: str) -> list[Entry]:
        """Asserted entries of a kind, each sensor's states without those that ended since."""
        standing: dict[tuple[str, str, int], Entry] = {}
        for number, entry in enumerate(self.entries):
            kind = entry.kind
            if kind is None or kind.name != name:
                continue
            key = (entry.sensor, entry.event, -1 if kind.state else number)
            if entry.direction == "Asserted":
                standing[key] = entry
            elif kind.state:
                standing.pop(key, None)
        return list(standing.values())

    def _time(self, entry: Entry) -> float:
        """When it was; one from before the controller knew the time is older than the next that has one."""
        after = self.entries[self.entries.index(entry):]
        times = [each.seconds for each in after]
        known = [time for time in times if not isinstance(time, Absent)]
        return float(known[0] if known else self.get("now_seconds", int))

    def _gaps(self, since: float) -> list[str]:
        gaps = [f"not an entry: {line!r:.60}" for line in self.get("unreadable", list)]
        if self.get("left_out", int) and self.entries and self._time(self.entries[0]) >= since:
            gaps.append(f"{self.get('left_out', int)} older entries were left out, and may be of this boot")
        return gaps


def _concern(entry: Entry) -> Concern:
    kind = entry.kind
    return Concern(f"{entry.event} (entry {entry.get('id', str)})", kind.severity if kind else "", kind.action if kind else "")


def _part(raw: Any) -> Part:
    name = str(raw.get("sensor", "?")) if isinstance(raw, Mapping) else "?"
    return Part("sensor", name, name)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> EventLog:
    """The log as told by the controller."""
    return EventLog(data)
