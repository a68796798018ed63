"""From kernel log records to events: classify each, then a list of rules over all of them. Controller side; pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fleetcheck.facts import catalogue, hardware_error, xid
from fleetcheck.facts.bus_id import bus_id
from fleetcheck.facts.kernel_event import Event, Record, printable, record_of

BURST_SECONDS = 1.0
RANK = {"warn": 0, "degraded": 1, "fatal": 2}
NVLINK5 = frozenset(f"xid-{code}" for code in range(144, 151))


def records_of(lines: Sequence[Any]) -> tuple[list[Record], list[str]]:
    """The kernel's own records, and what was wrong with lines that are none."""
    records, broken = [], []
    for line in lines:
        try:
            record = record_of(line) if isinstance(line, Mapping) else record_of({"text": line})
        except ValueError as problem:
            broken.append(f"not a kernel log record: {problem}")
        else:
            records += [record] if record else []
    return records, broken


def events_of(records: Sequence[Record], benign: Sequence[str] = ()) -> list[Event]:
    """Everything worth a word, oldest first. benign: patterns of lines that are normal on this hardware."""
    blocks, others = hardware_error.blocks(joined(records))
    events = sorted([*blocks, *filter(None, map(classify, others))], key=lambda event: event.seconds)
    for rule in RULES:
        events = rule(events)
    return [
        xid.watched(event, "normal on this hardware, says the profile") if _matches(event.text, benign) else event
        for event in events
    ]


def joined(records: Iterable[Record]) -> list[Record]:
    """Records with sentences put together that a relay split at their line breaks (GPU lost without an Xid)."""
    whole: list[Record] = []
    for record in records:
        last = whole[-1].text if whole else ""
        if (
            record.text.startswith("NVRM: ")
            and "NVRM: The NVIDIA GPU" in last
            and "fallen off" not in last
            and last.count("\n") < 3
        ):
            whole[-1] = replace(whole[-1], text=f"{last}\n{record.text}")
        else:
            whole.append(record)
    return whole


def classify(record: Record) -> Event | None:
    """The event of one record; None for a line of no concern."""
    return xid.event(record) or hardware_error.machine_check(record) or _by_pattern(record)


def _by_pattern(record: Record) -> Event | None:
    for entry in catalogue.patterns():
        found, cleared = entry.pattern.search(record.text), False
        if not found and entry.clears:
            found, cleared = entry.clears.search(record.text), True
        if found:
            return _event(entry, record, found, cleared)
    return None


def _event(entry: catalogue.Pattern, record: Record, found: re.Match[str], cleared: bool) -> Event:
    slot = found.groupdict().get("slot") or ""
    event = Event(
        entry.code,
        entry.component,
        entry.severity,
        entry.action,
        printable(record.text),
        record.seconds,
        entry.kind,
        bus_id(slot) or slot.rstrip(":"),
        cleared=cleared,
        repeat=entry.repeat,
        by_line=entry.by_line,
    )
    return xid.watched(event, f"within {entry.grace:.0f} s of boot") if record.seconds < entry.grace else event


def fold(events: Sequence[Event]) -> list[Event]:
    """Bursts: what repeats on one part within a second is one event with a count; its worst line speaks."""
    folded: list[Event] = []
    latest: dict[tuple[str, str, bool, int], int] = {}
    for event in events:
        key = (event.code, event.slot, event.cleared, event.cause)
        index = latest.get(key)
        if index is not None and event.seconds - folded[index].seconds <= BURST_SECONDS:
            first = folded[index]
            worst = max(first, event, key=lambda one: RANK[one.severity])
            folded[index] = replace(worst, seconds=first.seconds, count=first.count + 1)
        else:
            latest[key] = len(folded)
            folded.append(event)
    return folded


def pairs(events: Sequence[Event]) -> list[Event]:
    """A condition that a later line ended (an NFS server answers again) is a warning."""
    ended = {(event.code, event.slot): event.seconds for event in events if event.cleared and event.code != "xid-154"}
    return [
        _recovered(event, ended.get((event.code, event.slot)))
        for event in events
        if not event.cleared or event.code == "xid-154"
    ]


def _recovered(event: Event, ended: float | None) -> Event:
    if ended is None or ended < event.seconds:
        return event
    return xid.watched(event, f"over {ended - event.seconds:.0f} s later")


def recoveries(events: Sequence[Event]) -> list[Event]:
    """Xid 154: the latest per GPU counts; a recovery also settles what a GPU reset mends and came before it."""
    latest = {event.slot: event for event in events if event.code == "xid-154"}
    return [_settled(event, latest.get(event.slot)) for event in events]


def _settled(event: Event, latest: Event | None) -> Event:
    if latest is None or event.seconds > latest.seconds or event is latest:
        return event
    if event.code == "xid-154":
        return xid.watched(event, "superseded by a later one")
    if latest.cleared and event.action == "reset-gpu" and event.kind == "gpu":
        return xid.watched(event, f"recovered at {latest.seconds:.0f} s")
    return event


def causes(events: Sequence[Event]) -> list[Event]:
    """Lines naming an earlier Xid: with that Xid's own line at hand they are its consequence; of the NVLink 5 family only the
    link event (149) is a root, the errors on the other ends of the link follow from it."""
    own = {(event.code, event.slot) for event in events if not event.cause}
    roots = [event.slot for event in events if event.code == "xid-149" and event.severity == "fatal"]
    return [_as_consequence(event, own, roots) for event in events]


def _as_consequence(event: Event, own: set[tuple[str, str]], roots: Sequence[str]) -> Event:
    if not event.cause:
        return event
    if (event.code, event.slot) in own:
        return xid.watched(event, f"follows {event.code} of this GPU")
    elsewhere = next((slot for slot in roots if slot != event.slot), "")
    if event.code in NVLINK5 - {"xid-149"} and elsewhere and event.slot not in roots:
        return xid.watched(event, f"follows xid-149 of {elsewhere}")
    return event


def details(events: Sequence[Event]) -> list[Event]:
    """Lines that only add to another: Xid 171 and 172 beside Xid 48, hung tasks while a file server did not answer."""
    broken = {event.slot for event in events if event.code == "xid-48"}
    waiting = any(event.component == "storage" for event in events)
    return [_as_detail(event, broken, waiting) for event in events]


def _as_detail(event: Event, broken: set[str], waiting: bool) -> Event:
    if event.code in ("xid-171", "xid-172") and event.slot in broken:
        return xid.watched(event, "detail of xid-48")
    if event.code == "hung-task" and waiting:
        return xid.watched(event, "a file server did not answer")
    return event


def repeats(events: Sequence[Event]) -> list[Event]:
    """What matters only when it repeats is a warning until it did."""
    times: Counter[tuple[str, str]] = Counter()
    for event in events:
        times[event.code, event.slot] += event.count if event.by_line else 1
    return [
        event
        if times[event.code, event.slot] >= event.repeat
        else xid.watched(event, "seen once" if event.repeat == 2 else f"fewer than {event.repeat} times")
        for event in events
    ]


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return any(re.search(pattern, text) for pattern in patterns)


RULES: tuple[Callable[[Sequence[Event]], list[Event]], ...] = (fold, pairs, recoveries, causes, details, repeats)
