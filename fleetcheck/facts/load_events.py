"""What happened while loads ran: each event with its GPU, the minute and the load. Runs on the controller."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.facts.kernel_event import Record, printable, without_prefix
from fleetcheck.facts.kernel_events import events_of
from fleetcheck.facts.load_window import minute
from fleetcheck.facts.section import Section
from fleetcheck.recording import Concern, Offender, Part
from fleetcheck.view import Parts

KINDS = ("xid", "ecc", "aer", "pcie", "nvlink", "process", "telemetry", "cut")
"""Kinds with a check of their own; telemetry tells what could not be sampled, cut which load the end of all came upon: no faults."""
PROCESS = "process"
"""Told by the supervisor itself, whatever could be sampled or read."""
LOGGED = ("xid", "ecc", "aer")
"""Kinds that lines of the kernel log make."""
_GROWTH = re.compile(r"\b([a-z_]+)(?: (?:by|of) \S+(?: \d+)?)? grew by \d+ ")
"""How an event tells of a counter: ``GPU 3: ecc uncorrected grew by 2 (0 → 2)``."""
_PIECE = re.compile(r"\[Hardware Error\]|\bEDAC\b|\bAER: |PCIe Bus Error|\bmce: ")
"""A line of a report of many: what the catalogue does not know of it alone is judged with its neighbours, after the loads."""
CORRECTED = frozenset({"corrected", "corrected_rows", "correctable", "replay", "replays", "crc_flit", "crc_data"})
"""Counters of errors that were made good: alone they are none of the node's; their rate has checks of its own."""
GRADES = {"nonfatal": ("degraded", "isolate"), "fatal": ("fatal", "isolate"), "uncorrected_rows": ("degraded", "reset-gpu"),
          "remap_pending": ("degraded", "reset-gpu"), "recovery": ("degraded", "isolate")}
"""Severity and action of a counter's growth where they are not the check's own."""


@dataclass(frozen=True, slots=True)
class When:
    """Where in the loads an event came. at: seconds since their start; clock: the node's time."""

    at: float
    clock: str
    load: str

    def __str__(self) -> str:
        """``in minute 13 of gemm (2026-11-30T03:14:07Z)``."""
        clock = f" ({printable(self.clock):.40})" if self.clock else ""
        return f"in {minute(self.at)} of the loads, under {self.load or 'none of them'}{clock}"


class LoadEvent(Section):
    """One event, as a part that may offend."""

    __slots__ = ("event_kind", "text", "when")

    def __init__(self, part: Part | None, kind: str, text: str, when: When) -> None:
        super().__init__({}, "node", part)
        self.event_kind = kind
        self.text = text
        self.when = when

    @property
    def concern(self) -> Concern | None:
        """Its words and when it came; a line of the kernel with the severity of its catalogue; None for a corrected error, whose
        rate counts."""
        shown = f"{printable(self.text.removeprefix(f'{self.label}: '))} {self.when}"
        counter = _GROWTH.search(self.text)
        if counter:
            severity, action = GRADES.get(counter[1], ("", ""))
            return None if counter[1] in CORRECTED else Concern(shown, severity, action, f"{self.event_kind}-{counter[1]}")
        if self.event_kind == PROCESS:
            return Concern(shown)
        found = events_of([Record(self.when.at, without_prefix(self.text))])
        if not found:
            said_whole = self.event_kind in KINDS and not _PIECE.search(self.text)
            return Concern(shown) if said_whole else Concern(shown, "warn", "observe")
        event = max(found, key=lambda each: ("warn", "degraded", "fatal").index(each.severity))
        name = f"{event.code} ({event.name}): " if event.name else ""
        return Concern(f"{name}{shown}", event.severity, event.action, event.code)


class Events:
    """All events of a node's loads. gaps: why they may not be all."""

    def __init__(self, raw: Any, parts: Sequence[Part], unwatched: Sequence[str] = (), unread: Sequence[str] = ()) -> None:
        """``parts``: the node's GPUs, by index, for those that an event names. unwatched: loads that were not sampled all the time;
        unread: why lines of the kernel log may be missing."""
        self.gaps: list[str] = []
        self._unwatched, self._unread = list(unwatched), list(unread)
        self._parts = {part.label: part for part in parts}
        self._by_uuid = {part.serial: part for part in parts if part.serial}
        self.found = [event for event in map(self._event, self._entries(raw)) if event]

    def _entries(self, raw: Any) -> list[Any]:
        if isinstance(raw, list):
            return raw
        said = raw.reason if isinstance(raw, Absent) else f"{raw!r:.60} is no list of events"
        self.gaps.append(f"events: {said}")
        return []

    def _event(self, raw: Any) -> LoadEvent | None:
        problem = _problem(raw)
        if problem:
            self.gaps.append(f"an event that cannot be read: {problem}")
            return None
        when = When(float(raw["t"]), str(raw.get("time") or ""), str(raw.get("load") or ""))
        return LoadEvent(self._part(raw), raw["kind"], raw["text"], when)

    def _part(self, raw: Any) -> Part | None:
        index = raw.get("gpu")
        if isinstance(index, bool) or not isinstance(index, int):
            return None
        return self._parts.get(f"GPU {index}") or Part("gpu", f"GPU {index}")

    def of(self, *kinds: str) -> list[Offender]:
        """The events of these kinds, as offenders; NotMeasured when there are none and they may not be all."""
        found = [event for event in self.found if event.event_kind in kinds]
        unwatched = [] if kinds == (PROCESS,) else self._unwatched
        unread = self._unread if {*kinds} & {*LOGGED} else []
        return self._offending(found, f"{' and '.join(kinds)} events", [*self.gaps, *unwatched, *unread])

    def others(self) -> list[Offender]:
        """The events that no other check is about."""
        found = [event for event in self.found if event.event_kind not in KINDS]
        return self._offending(found, "other events", [*self.gaps, *self._unwatched, *self._unread])

    def _offending(self, found: Sequence[LoadEvent], what: str, gaps: Sequence[str]) -> list[Offender]:
        return Parts(found, what, unreadable=gaps[:4]).offending(lambda event: event.concern)


def _problem(raw: Any) -> str:
    """What is wrong with an event; empty when nothing is."""
    if not isinstance(raw, dict):
        return f"{raw!r:.60}"
    at = raw.get("t")
    if isinstance(at, bool) or not isinstance(at, (int, float)) or not math.isfinite(at) or not 0 <= at < 1e9:
        return f"t is {at!r:.40}"
    odd = next((key for key in ("kind", "text") if not isinstance(raw.get(key), str) or not raw[key]), "")
    return f"{odd} is {raw.get(odd)!r:.60}" if odd else ""


def readable_kernel_log(answer: Any, where: str) -> str:
    """Why the kernel log was not watched; empty when it was."""
    records = answer.get("records") if hasattr(answer, "get") else None
    if isinstance(records, list):
        return ""
    said = records.get("absent") if isinstance(records, dict) else "missing from the answer"
    return f"kernel log {where}: {said}"
