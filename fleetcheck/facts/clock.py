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
from fleetcheck.bound import Bound
from fleetcheck.facts.chrony import chrony_offset_seconds, none_selected, sources, tracking, unheard, without_source
from fleetcheck.facts.defaults import limit
from fleetcheck.facts.growth import measured, noted
from fleetcheck.facts.ptp import Ptp, ptp
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.records import Evidence
from fleetcheck.view import Nested, Reading, View

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "day": 86400.0, "days": 86400.0,
          "w": 604800.0, "month": 2629800.0, "months": 2629800.0, "y": 31557600.0, "years": 31557600.0, "": 1.0}
_SPAN = r"(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|min|h|d|days?|w|months?|y|years?)|0(?= |$))"
QUICK_CLOCKSOURCES = frozenset({
    "tsc", "tsc-early", "arch_sys_counter", "timebase", "riscv_clocksource", "kvm-clock", "xen", "hyperv_clocksource_tsc_page",
    "hyperv_clocksource_msr",
})
SLOW_CLOCKSOURCES = frozenset({"hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"})
"""Read over a bus: a microsecond and more for every look at the clock, which a rank takes thousands of times a second."""


def timesyncd_offset_seconds(text: str) -> float:
    """The offset line of ``timedatectl timesync-status``.

    >>> timesyncd_offset_seconds("       Offset: -1.250ms\\n")
    -0.00125
    """
    found = re.search(rf"^\s*Offset: ([+-]?)((?:{_SPAN})(?: {_SPAN})*)\s*$", text, re.MULTILINE)
    if not found:
        raise NotMeasured("no offset in timedatectl timesync-status")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in re.findall(r"(\d+(?:\.\d+)?)([^\d ]*)(?: |$)", found[2]))
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
    """The node's clock. limits: how long ago chrony may have heard its source, and how far PTP may be off."""

    __slots__ = ("limits",)
    asked = Nested(Asked)
    wall_clock_seconds = Reading(float)
    clocksource = Reading(str)

    def __init__(self, raw: object, where: str, limits: Mapping[str, Bound]) -> None:
        super().__init__(raw, where)
        self.limits = limits

    @property
    def unsynchronised(self) -> str:
        """Why the clock follows no source, or empty. chrony speaks first, then PTP, then systemd; NotMeasured when none can."""
        rows = self._chrony()
        if not isinstance(rows, Absent):
            return noted("clock.unsynchronised", without_source(rows) or self._unfollowed(rows))
        if self.by_ptp:
            return noted("clock.unsynchronised", self._ptp().trouble or self._set_by_nobody())
        said = self._kernel_says_synchronised()
        if isinstance(said, Absent):
            raise NotMeasured(f"no clock daemon told: {rows.reason}; {said.reason}")
        return noted("clock.unsynchronised", "" if said else "timedatectl: NTPSynchronized=no")

    @property
    def by_ptp(self) -> bool:
        """Whether PTP keeps the clock: no NTP daemon speaks for it, and linuxptp does."""
        others = (self._chrony, self._timesyncd, self._ntpd)
        return all(isinstance(ask(), Absent) for ask in others) and self._ptp().told

    @property
    def offset_seconds(self) -> float:
        """How far the clock is off, by its daemon; NotMeasured while there is no source, for then the offset means nothing."""
        why = self.unsynchronised
        if why:
            raise NotMeasured(f"the offset means nothing without a source ({why})")
        rows = self._chrony()
        if not isinstance(rows, Absent):
            return noted("clock.offset_seconds", chrony_offset_seconds(rows))
        if self.by_ptp:
            return noted("clock.offset_seconds", self._ptp().worst_seconds)
        said, peers = self._timesyncd(), self._ntpd()
        if isinstance(said, Absent) and not isinstance(peers, Absent):
            return noted("clock.offset_seconds", ntpd_offset_seconds(peers))
        return noted("clock.offset_seconds", timesyncd_offset_seconds("" if isinstance(said, Absent) else said))

    def allowed_offset(self, by_ntp: Bound) -> Bound:
        """The profile's bound; where PTP keeps the clock, the narrower one of PTP."""
        return self.limits["ptp_offset_seconds"] if self.by_ptp else by_ntp

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

    def _unfollowed(self, rows: Mapping[str, str]) -> str:
        """Why chrony only remembers its source: none is selected, none was heard lately, or its reference clock has lost PTP."""
        said = self._said("chrony_sources")
        if isinstance(said, Absent):
            raise NotMeasured(said.reason)
        listed = sources(said)
        old = none_selected(said) or unheard(rows, listed, self.limits["clock_heard_seconds"], self._now_seconds)
        card = any(each.kind == "#" and each.state == "*" and each.name.startswith(("PHC", "PTP")) for each in listed)
        return old or (self._ptp().trouble if card and self._ptp().told else "")

    def _now_seconds(self) -> tuple[float, float]:
        """By the node's clock and by the controller's: one of them may have been set meanwhile."""
        return self.wall_clock_seconds, self.asked.started_seconds

    def _set_by_nobody(self) -> str:
        """Why PTP's time does not reach the system's clock: phc2sys tells nothing, and the kernel was told of no synchronisation.
        Raises NotMeasured where neither tells."""
        if "phc2sys" in (self._ptp().offsets_seconds or {}):
            return ""
        said = self._kernel_says_synchronised()
        if isinstance(said, Absent):
            raise NotMeasured(f"PTP keeps the card's clock; whether the system's follows is not told: no line of phc2sys; {said.reason}")
        return "" if said else "PTP keeps the card's clock, but nobody sets the system's by it (phc2sys)"

    def _kernel_says_synchronised(self) -> bool | Absent:
        """NTPSynchronized of timedatectl."""
        said = self._said("timedatectl")
        found = re.search(r"^NTPSynchronized=(yes|no)$", said, re.MULTILINE) if isinstance(said, str) else None
        if found:
            return found[1] == "yes"
        return said if isinstance(said, Absent) else Absent("timedatectl did not say NTPSynchronized")

    def _timesyncd(self) -> str | Absent:
        """What systemd-timesyncd says of the server it follows."""
        said = self._said("timesync")
        return said if isinstance(said, Absent) or "Offset:" in said else Absent("systemd-timesyncd follows no server")

    def _ntpd(self) -> str | Absent:
        """What ntpd says of its peers."""
        return self._told("ntpd")

    def _ptp(self) -> Ptp:
        """What linuxptp told; nothing where it is not installed."""
        said = [self._told(name) for name in ("ptp", "ptp_journal")]
        return ptp(*("" if isinstance(each, Absent) else each for each in said))

    def _told(self, name: str) -> str | Absent:
        """What a program printed, of those that answers of earlier versions lack."""
        return self._said(name) if isinstance(self.raw, Mapping) and name in self.raw else Absent(f"{name} was not asked")

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
    return Clock(data, "clock", {name: limit(profile, name) for name in ("clock_heard_seconds", "ptp_offset_seconds")})
