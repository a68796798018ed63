"""Whether a node's clock is kept right, by what, and how far it is off. Runs on the controller.

Judged in the order that cannot be fooled: a source first (leap status, reference, stratum), the offset last. An offset of
0.000000000 s without a source is what a clock that nobody sets looks like.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.growth import measured, noted
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.records import Evidence
from fleetcheck.view import Nested, Reading, View

LOCAL_REFERENCES = ("00000000", "7F7F0101", "7F7F0100", "127.127.1.1", "127.127.1.0")
"""No reference, or chronyd set to follow its own clock."""
UNSYNCHRONISED_STRATUM = 16
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0}
_SPAN = r"\d+(?:\.\d+)?(?:ns|us|µs|ms|s|min|h|d|days?)"
QUICK_CLOCKSOURCES = frozenset({
    "tsc", "tsc-early", "arch_sys_counter", "timebase", "riscv_clocksource", "kvm-clock", "xen", "hyperv_clocksource_tsc_page",
    "hyperv_clocksource_msr",
})
SLOW_CLOCKSOURCES = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"})
"""Read over a bus: a microsecond and more for every look at the clock, which a rank takes thousands of times a second."""


def tracking(text: str) -> dict[str, str]:
    """The rows of ``chronyc tracking``.

    >>> tracking("Reference ID    : 00000000 ()\\nStratum         : 0\\n")["Stratum"]
    '0'
    """
    rows = (line.partition(" : ") for line in text.splitlines())
    return {key.strip(): value.strip() for key, colon, value in rows if colon}


def without_source(rows: Mapping[str, str]) -> str:
    """Why chrony follows no source; empty when it follows one. Raises NotMeasured on an answer that is not chrony's."""
    if not {"Reference ID", "Stratum", "Leap status"} <= set(rows) or not rows["Stratum"].isdigit():
        raise NotMeasured(f"not chronyc's tracking: {dict(rows)!r:.120}")
    if rows["Leap status"] == "Not synchronised":
        return "leap status: Not synchronised"
    reference, stratum = rows["Reference ID"].split()[0], int(rows["Stratum"])
    if reference in LOCAL_REFERENCES:
        return f"reference {reference}: its own clock"
    return f"stratum {stratum}" if not 0 < stratum < UNSYNCHRONISED_STRATUM else ""


def none_selected(text: str) -> str:
    """Why chrony only remembers a source: of those that ``chronyc sources`` lists it has selected none; else empty.

    >>> none_selected("^? 10.0.0.1   2   6   0   -   +0ns[   +0ns] +/-    0ns")
    'none of its 1 sources is selected, it goes by what it remembers'
    """
    states = re.findall(r"^[\^=#]([*+\-?x~])\s", text, re.MULTILINE)
    if not states or "*" in states:
        return ""
    return f"none of its {len(states)} sources is selected, it goes by what it remembers"


def chrony_offset_seconds(rows: Mapping[str, str]) -> float:
    """System time against NTP time, positive when fast.

    >>> chrony_offset_seconds({"System time": "0.000021 seconds slow of NTP time"})
    -2.1e-05
    """
    found = re.fullmatch(r"(\d+\.\d+) seconds (fast|slow) of NTP time", rows.get("System time", ""))
    if not found:
        raise NotMeasured(f"no system time in chronyc's tracking: {rows.get('System time', '')!r:.80}")
    return float(found[1]) * (1 if found[2] == "fast" else -1)


def timesyncd_offset_seconds(text: str) -> float:
    """The offset line of ``timedatectl timesync-status``.

    >>> timesyncd_offset_seconds("       Offset: -1.250ms\\n")
    -0.00125
    """
    found = re.search(rf"^\s*Offset: ([+-]?)((?:{_SPAN})(?: {_SPAN})*)\s*$", text, re.MULTILINE)
    if not found:
        raise NotMeasured("no offset in timedatectl timesync-status")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)(\D+?)(?: |$)", found[2]))
    return -seconds if found[1] == "-" else seconds


def ntpd_offset_seconds(text: str) -> float:
    """The offset of the peer that ntpd follows, by ``ntpq -pn``, which counts milliseconds; raises NotMeasured without one.

    >>> ntpd_offset_seconds("*10.0.0.1  .GPS.  1 u  33  64  377  0.213  -812.042  0.030\\n")
    -0.812042
    """
    rows = [line.split() for line in text.splitlines() if line[:1] in ("*", "o")]
    if not rows or len(rows[0]) < 10:
        raise NotMeasured("ntpq names no peer that ntpd follows")
    try:
        return float(rows[0][8]) / 1000
    except ValueError:
        raise NotMeasured(f"ntpq: not an offset: {rows[0][8]!r:.40}") from None


def asked(evidence: Evidence) -> dict[str, float]:
    """When the controller asked, by its own clock, and how long the answer took."""
    return {"started_seconds": datetime.datetime.fromisoformat(evidence.started).timestamp(), "seconds": evidence.seconds}


class Asked(View):
    """When the controller asked, by its own clock, and how long the answer took."""

    __slots__ = ()
    started_seconds = Reading(float)
    seconds = Reading(float)


class Clock(View):
    """The node's clock."""

    __slots__ = ()
    asked = Nested(Asked)
    wall_clock_seconds = Reading(float)
    clocksource = Reading(str)

    @property
    def unsynchronised(self) -> str:
        """Why the clock follows no source, or empty. chrony speaks first, then systemd; NotMeasured when neither can."""
        rows = self._chrony()
        if not isinstance(rows, Absent):
            return noted("clock.unsynchronised", without_source(rows) or none_selected(self._sources()))
        said = self._said("timedatectl")
        found = re.search(r"^NTPSynchronized=(yes|no)$", said, re.MULTILINE) if isinstance(said, str) else None
        if not found:
            why = said.reason if isinstance(said, Absent) else "timedatectl did not say NTPSynchronized"
            raise NotMeasured(f"no clock daemon told: {rows.reason}; {why}")
        return noted("clock.unsynchronised", "" if found[1] == "yes" else "timedatectl: NTPSynchronized=no")

    @property
    def offset_seconds(self) -> float:
        """How far the clock is off, by its daemon; NotMeasured while there is no source, for then the offset means nothing."""
        why = self.unsynchronised
        if why:
            raise NotMeasured(f"the offset means nothing without a source ({why})")
        rows = self._chrony()
        if not isinstance(rows, Absent):
            return noted("clock.offset_seconds", chrony_offset_seconds(rows))
        said = self._said("timesync")
        peers = self._said("ntpd") if isinstance(self.raw, Mapping) and "ntpd" in self.raw else Absent("ntpq was not asked")
        if not isinstance(peers, Absent) and (isinstance(said, Absent) or "Offset:" not in said):
            return noted("clock.offset_seconds", ntpd_offset_seconds(peers))
        return noted("clock.offset_seconds", timesyncd_offset_seconds("" if isinstance(said, Absent) else said))

    @property
    def slow_source(self) -> str:
        """The clock source where it is a slow one, else empty; NotMeasured for one that nobody knows."""
        source = str(measured(self.clocksource))
        if source not in QUICK_CLOCKSOURCES | SLOW_CLOCKSOURCES:
            raise NotMeasured(f"not a clock source that is known: {source!r:.60}")
        return source if source in SLOW_CLOCKSOURCES else ""

    @property
    def skew_seconds(self) -> float:
        """The least skew against the controller that explains what the node's clock said: 0 while that lies between the
        asking and the answer, for the way there and back takes an unknown time."""
        said, asked = self.wall_clock_seconds, self.asked.started_seconds
        answered = asked + self.asked.seconds
        return noted("clock.skew_seconds", max(said - answered, 0.0) + min(said - asked, 0.0))

    def _sources(self) -> str:
        """chrony's list of sources."""
        said = self._said("chrony_sources")
        if isinstance(said, Absent):
            raise NotMeasured(said.reason)
        return said

    def _chrony(self) -> dict[str, str] | Absent:
        said = self._said("chrony_tracking")
        return said if isinstance(said, Absent) else tracking(said)

    def _said(self, name: str) -> str | Absent:
        """What a program printed; Absent when it could not be run or said that it could not tell."""
        raw = self.get(name, dict)
        if isinstance(raw, Absent):
            if isinstance(self.raw, Mapping) and name in self.raw:
                return raw
            raise NotMeasured(raw.reason)
        ran = View(raw, f"clock.{name}")
        status: int = measured(ran.get("status", int))
        said, complaint = (str(measured(ran.get(key, str))) for key in ("stdout", "stderr"))
        if status != 0 or said.startswith("506 "):
            return Absent(f"{name} ended with {status}: {said.strip() + ' ' + complaint.strip()}"[:200])
        return str(said)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Clock:
    """The clock as told by the node."""
    return Clock(data, "clock")
