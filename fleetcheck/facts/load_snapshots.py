"""What the loads left on a node: its state before them against its state after. Deltas, never totals. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.kernel_events import events_of, records_of
from fleetcheck.facts.kernel_log import KernelEvent
from fleetcheck.facts.load_result import snapshot
from fleetcheck.facts.section import UNSUPPORTED, Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Offender, Part
from fleetcheck.view import Parts

MEMORY = {
    "ecc.volatile_uncorrected": "uncorrectable memory errors", "remap.uncorrectable": "rows remapped for uncorrectable errors",
    "remap.pending": "row remap pending", "remap.failure": "row remap failed",
}
"""Counters of a GPU that must not grow under load, in words."""
ACTIONS = {"remap.failure": "replace"}
"""What a counter's growth asks for where it is not the check's own: no reset mends a bank without spare rows."""
AER = {"aer.nonfatal": "uncorrectable PCIe errors", "aer.fatal": "fatal PCIe errors"}
"""The same of a PCI function."""
SERIOUS = ("degraded", "fatal")
BY_EVENTS = ("xid-", "sxid-")
"""Codes of kernel lines that come as events of the loads, with GPU and minute: they are judged there."""


class Twice(Section):
    """One part before and after the loads."""

    __slots__ = ("after", "before")

    def __init__(self, before: Any, after: Any, where: str, part: Part) -> None:
        super().__init__({}, where, part)
        self.before = Section(before, f"{where}.before", part)
        self.after = Section(after, f"{where}.after", part)

    def grown(self, counters: Mapping[str, str]) -> Concern | bool:
        """Which counters grew, in words; raises NotMeasured where one was not told; one that the hardware lacks is none."""
        found = {path: f"{grown} {words}" for path, words in counters.items() if (grown := self._growth(path)) > 0}
        action = next((ACTIONS[path] for path in found if path in ACTIONS), "")
        return bool(found) and Concern(f"under load: {', '.join(found.values())}", action=action)

    def _growth(self, path: str) -> int:
        section, _, key = path.partition(".")
        first, last = (Section(side.get(section, dict), f"{side.where}.{section}", self.part) for side in (self.before, self.after))
        if all(side.code(key) in UNSUPPORTED or str(side.code(key)).startswith("no such file") for side in (first, last)):
            return 0
        counts = [_count(side, key) for side in (first, last)]
        if counts[1] < counts[0]:
            raise NotMeasured(f"{self.label}: {path} went from {counts[0]} to {counts[1]}: it started anew under load")
        return int(self.derived(f"{path}_grown", counts[1] - counts[0]))


def _count(side: Section, key: str) -> int:
    value = side.get(key, int)
    if isinstance(value, Absent):
        raise NotMeasured(value.reason)
    return int(value)


class Snapshots:
    """All of a node's state before and after its loads."""

    def __init__(self, answers: Mapping[str, Any], promised: int | None) -> None:
        self._answers = answers
        self._promised = promised

    @property
    def gpus(self) -> Parts[Twice]:
        """Every GPU of the first snapshot, found again by its uuid: one that is gone afterwards tells nothing."""
        before, after = (_by_key(snapshot(self._answers, when, "gpu").get("gpus"), "identity", "uuid") for when in ("before", "after"))
        views = [Twice(raw, after.get(uuid, Absent(f"GPU {raw.get('index')} is not there after the loads")), "snapshots",
                       _gpu(raw)) for uuid, raw in before.items()]
        return Parts(views, "GPUs", self._promised, [] if views else ["no snapshot of the GPUs before the loads"])

    @property
    def functions(self) -> Parts[Twice]:
        """Every PCI function that counts errors, before and after."""
        before, after = (_by_key(snapshot(self._answers, when, "pci").get("functions"), "address") for when in ("before", "after"))
        views = [Twice(raw, after.get(address, Absent(f"{address} is not there after the loads")), "snapshots",
                       Part(str(raw.get("kind") or "pci"), f"{raw.get('kind', 'function')} at {address}", address))
                 for address, raw in before.items() if _counts(raw)]
        return Parts(views, "PCI functions", unreadable=[] if before else ["no snapshot of the PCI functions before the loads"])

    def kernel_faults(self) -> list[Offender]:
        """Kernel events of degraded or fatal severity that came after the first snapshot and are not told as events of the loads."""
        sides = [snapshot(self._answers, when, "kernel_log").get("records") for when in ("before", "after")]
        before, after = sides
        if not isinstance(before, list) or not isinstance(after, list):
            unread = [(when, side) for when, side in (("before", before), ("after", after)) if not isinstance(side, list)]
            raise NotMeasured("; ".join(f"kernel log {when} the loads: {_why(side)}" for when, side in unread))
        known, _ = records_of(before)
        records, broken = records_of(after)
        new = records[len(known):] if records[: len(known)] == known else [each for each in records if each not in known]
        found = [KernelEvent(event) for event in events_of(new) if event.severity in SERIOUS and not event.code.startswith(BY_EVENTS)]
        what = f"events in {len(new)} kernel lines since the start"
        return Parts(found, what, unreadable=broken[:3]).offending(lambda view: view.concern)


def _why(side: Any) -> str:
    return str(side.get("absent")) if isinstance(side, Mapping) else "missing from the answer"


def _counts(raw: Mapping[str, Any]) -> bool:
    """Whether a function has AER counters at all."""
    aer = raw.get("aer")
    told = aer.get("nonfatal") if isinstance(aer, Mapping) else None
    return not (isinstance(told, Mapping) and str(told.get("absent")).startswith("no such file"))


def _gpu(raw: Mapping[str, Any]) -> Part:
    identity = raw.get("identity") if isinstance(raw.get("identity"), Mapping) else {}
    place, serial = (identity.get(name) if isinstance(identity, Mapping) else "" for name in ("address", "serial"))
    return Part("gpu", f"GPU {raw.get('index')}", place if isinstance(place, str) else "", serial if isinstance(serial, str) else "")


def _by_key(entries: Any, *path: str) -> dict[str, Mapping[str, Any]]:
    """Mappings of a list by a text below a path; what has none is left out, and is missing."""
    found: dict[str, Mapping[str, Any]] = {}
    listed: Sequence[Any] = entries if isinstance(entries, list) else []
    for each in listed:
        value = each
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if isinstance(value, str) and isinstance(each, Mapping):
            found[value] = each
    return found


def build(answers: Mapping[str, Any], profile: Profile, node: Node) -> Snapshots:
    """Both snapshots of a node."""
    return Snapshots(answers, int(profile.gpu.count.low or 0) if profile.gpu else None)
