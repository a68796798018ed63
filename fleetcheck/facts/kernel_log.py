"""The kernel log of this boot as events by component, and how the boot before ended. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.growth import measured
from fleetcheck.facts.kernel_event import Event, Record
from fleetcheck.facts.kernel_events import events_of, records_of
from fleetcheck.facts.xid import watched
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Offender, Part
from fleetcheck.view import Parts, Reading, View

BOOT_SECONDS = 5.0
"""A log whose first record is older than this starts at boot: the first messages carry 0, before clocks run."""
PANIC_SLACK_SECONDS = 3600.0
"""How long before boot a crash dump may have been written and still belong to the boot before."""
SERIOUS = ("fatal", "degraded")
_NOUNS = {
    "gpu": "GPU",
    "nvswitch": "NVSwitch",
    "nic": "NIC",
    "pci": "PCI",
    "nvme": "NVMe",
    "dimm": "DIMM",
    "cpu": "CPU",
}


class KernelEvent(View):
    """One event, as a part that may offend."""

    __slots__ = ("event",)

    def __init__(self, event: Event) -> None:
        noun = _NOUNS.get(event.kind, event.kind)
        label = event.slot if event.slot.startswith(noun) else f"{noun} {event.slot}"
        super().__init__(
            {"code": event.code}, "kernel_log", Part(event.kind, label, event.slot) if event.slot else None
        )
        self.event = event

    @property
    def concern(self) -> Concern:
        """Code and words of the event, with the severity and action that the catalogue or its text decide."""
        name = f" ({self.event.name})" if self.event.name else ""
        return Concern(f"{self.event.code}{name}: {self.event.says}", self.event.severity, self.event.action, self.event.code)


class Log(View):
    """One log: the lines seen, and the events among them. gaps: why it is not the whole log."""

    seen = Reading(int)

    def __init__(self, raw: object, where: str, benign: Sequence[str] = ()) -> None:
        super().__init__(raw, where)
        records, self.gaps = self._records()
        self.events = events_of(records, benign)

    def _records(self) -> tuple[list[Record], list[str]]:
        if isinstance(self.raw, Absent):
            return [], [self.raw.reason]
        lines = self.raw.get("records")
        if not isinstance(lines, list):
            said = lines.get("absent") if isinstance(lines, Mapping) else "missing from the answer"
            return [], [f"{self.where}.records: {said}"]
        records, broken = records_of(lines)
        return records, [f"{self.where}: {problem}" for problem in broken[:3]] + _losses(self.raw, self.where)

    def offending(self, component: str, severities: Sequence[str]) -> list[Offender]:
        """The events of a component with one of these severities, as offenders; NotMeasured when none and the log has gaps."""
        found = [
            KernelEvent(event) for event in self.events if event.component == component and event.severity in severities
        ]
        if not found and not self.gaps and not self.seen:
            raise NotMeasured(f"{self.where} holds no line at all")
        what = f"{component} events in {self.raw.get('seen', 0) if isinstance(self.raw, Mapping) else 0} kernel lines"
        return Parts(found, what, unreadable=self.gaps).offending(lambda view: view.concern)


def _losses(raw: Mapping[str, Any], where: str) -> list[str]:
    """Why records may be missing: overwritten while read, unreadable, or cut to size."""
    losses = {
        "overwritten": "overwritten while it was read",
        "unreadable": "not readable as records",
        "cut": "left out to keep the answer small",
    }
    return [f"{where}: {raw.get(name)!r} lines {why}" for name, why in losses.items() if raw.get(name) != 0]


class KernelLog(Log):
    """The log since boot. A ring buffer that has wrapped is completed from the journal; where that is impossible the missing time is
    a gap: events found still count, but nothing found is not measured."""

    def __init__(self, data: Mapping[str, Any], benign: Sequence[str] = ()) -> None:
        whole, missing = _completed(data)
        super().__init__(whole, "kernel_log", benign)
        self.gaps += missing
        self.previous = Log(data.get("previous_boot"), "previous_boot", benign)

    def faults(self, component: str) -> list[Offender]:
        """Events of a component that degrade or fail the node."""
        return self.offending(component, SERIOUS)

    def warnings(self, component: str) -> list[Offender]:
        """Events of a component to record and watch."""
        return self.offending(component, ("warn",))

    def panics(self) -> list[Offender]:
        """How the boot before ended, if in a panic: from its journal or from the crash dumps of the firmware."""
        return (
            self._earlier([event for event in self.previous.events if event.code == "kernel-panic"])
            or self.crash_dumps()
        )

    def earlier_faults(self) -> list[Offender]:
        """Fatal hardware events of the boot before, to be watched: a reboot does not make them unseen, nor does it leave
        them standing."""
        fatal = [event for event in self.previous.events if event.severity == "fatal"]
        return self._earlier([watched(event, f"{event.severity} then") for event in fatal])

    def _earlier(self, events: Sequence[Event]) -> list[Offender]:
        silent = isinstance(self.previous.raw, Absent) and "previous_boot" in (
            self.raw if isinstance(self.raw, Mapping) else {}
        )
        gaps = [] if silent and not isinstance(self._dumps(), Absent) else self.previous.gaps
        if not silent and not gaps and not self.previous.seen:
            gaps = ["the journal of the boot before holds no line"]
        return Parts([KernelEvent(event) for event in events], "events of the boot before", unreadable=gaps).offending(
            lambda view: view.concern
        )

    def crash_dumps(self) -> list[Offender]:
        """Dumps in /sys/fs/pstore written since shortly before this boot."""
        dumps = self._dumps()
        if isinstance(dumps, Absent):
            return []
        return Parts([Dump(dump, "pstore") for dump in dumps], "crash dumps").offending(lambda dump: dump.left_by(self))

    def _dumps(self) -> Any:
        return self.get("pstore", list)


class Dump(View):
    """A file in /sys/fs/pstore."""

    name = Reading(str)
    modified_seconds = Reading(float)

    def left_by(self, log: View) -> Concern | None:
        """Whether the boot before the log's left it; older dumps were kept for somebody to read."""
        if not measured(self.name).startswith("dmesg-"):
            return None
        if self.modified_seconds <= log.get("boot_time_seconds", float) - PANIC_SLACK_SECONDS:
            return None
        return Concern(f"crash dump {self.name} in /sys/fs/pstore")


def _completed(data: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[str]]:
    """The answer with the journal's earlier records put before the ring buffer's, and what is missing even then."""
    lines = data.get("records")
    if not isinstance(lines, list) or _from_boot(data):
        return data, []
    journal, first = data.get("journal"), data.get("first_seconds")
    gap = [f"kernel_log: the ring buffer has wrapped and the journal does not reach back to boot: {_why(journal)}"]
    if not isinstance(journal, Mapping) or not isinstance(journal.get("records"), list):
        return data, gap
    earlier = [line for line in journal["records"] if not isinstance(line, Mapping) or _seconds(line) < _number(first)]
    return {**data, "records": earlier + lines}, ([] if _from_boot(journal) else gap) + _losses(
        journal, "kernel_log.journal"
    )


def _why(journal: Any) -> str:
    said = journal.get("absent", journal.get("first_seconds")) if isinstance(journal, Mapping) else None
    said = said.get("absent") if isinstance(said, Mapping) else said
    return (
        f"it starts {said} s after boot" if isinstance(said, (int, float)) else str(said or "missing from the answer")
    )


def _from_boot(log: Mapping[str, Any]) -> bool:
    if not {"first_seconds", "first_sequence"} <= set(log):
        return False
    first = log["first_seconds"]
    return log["first_sequence"] == 0 or (isinstance(first, (int, float)) and first <= BOOT_SECONDS)


def _seconds(line: Mapping[str, Any]) -> float:
    return _number(line.get("seconds"))


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> KernelLog:
    """The kernel log as told by the node; lines the profile knows as normal become warnings."""
    benign = profile.choices.get("benign_kernel_lines")
    return KernelLog(data, benign.allowed if benign else ())
