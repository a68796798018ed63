"""What earlier runs said of a node's findings, as rules read it: who was where, one check's course over the runs. Pure."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from fleetcheck.exchanged import is_serial
from fleetcheck.measured import Machine
from fleetcheck.records import TIERS

NO_PIECE = ("", "")


@dataclass(frozen=True, slots=True)
class Told:
    """One line of an earlier run about one check of one node, a line each part at fault. outcome: failed, passed, or open: a fatal finding
    that this run carried, not measured again; since, last: then, when it was first seen and by which run last. tier: of that run."""

    run: str
    started: str
    tier: str
    complete: bool
    node: str
    machine: str
    check: str
    outcome: str
    severity: str = ""
    action: str = ""
    component: str = ""
    message: str = ""
    kind: str = ""
    label: str = ""
    slot: str = ""
    serial: str = ""
    boot_id: str = ""
    since: str = ""
    last: str = ""

    @property
    def piece(self) -> tuple[str, str]:
        """Its part: serial, and where it sits."""
        return self.serial, (self.slot or self.label).lower()

    @property
    def parts(self) -> tuple[Mapping[str, str], ...]:
        """Its part as findings name parts; none when it is about the whole node."""
        named = {"kind": self.kind, "label": self.label, "slot": self.slot, "serial": self.serial}
        return (named,) if self.label or self.slot else ()


@dataclass(frozen=True)
class Past:
    """told: by the node at which machine or part stand now, the newest run first. runs, complete: how many earlier runs there are; since:
    when the oldest of them began; damaged: what of the history could not be read, in words."""

    told: Mapping[str, tuple[Told, ...]] = field(default_factory=dict)
    runs: int = 0
    complete: int = 0
    since: str = ""
    damaged: tuple[str, ...] = ()

    def about(self) -> dict[str, object]:
        """What verdicts.json says of it."""
        note = "" if self.runs else "no earlier run of this fleet could be read: judged by this run alone"
        return {"runs": self.runs, "complete": self.complete, "since": self.since, "damaged": list(self.damaged), "note": note}


NO_PAST = Past()


def piece(part: Mapping[str, str]) -> tuple[str, str]:
    """A finding's part: serial, and where it sits."""
    return part.get("serial", ""), (part.get("slot") or part.get("label") or part.get("kind", "")).lower()


def same_piece(one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two findings are about one part: by serial where both are known, else by place; what names no part is about the whole node.

    >>> same_piece(("165", "gpu 3"), ("165", "gpu 5")), same_piece(("165", "gpu 3"), ("166", "gpu 3")), same_piece(("", "gpu 3"), ("", ""))
    (True, False, True)
    """
    if is_serial(one[0]) and is_serial(other[0]):
        return one[0] == other[0]
    return not one[1] or not other[1] or one[1] == other[1]


def pieces(parts: Iterable[Mapping[str, str]]) -> tuple[tuple[str, str], ...]:
    """The parts of a finding; one that is no part where it names none."""
    return tuple(piece(part) for part in parts if part.get("kind") != "node") or (NO_PIECE,)


def covers(tier: str, failed: str) -> bool:
    """Whether a run of a tier asks everything that the failed tier asked: each tier asks what those before it ask.

    >>> covers("full", "quick"), covers("quick", "burnin"), covers("", "")
    (True, False, True)
    """
    return tier == failed or (tier in TIERS and failed in TIERS and TIERS.index(tier) >= TIERS.index(failed))


@dataclass(frozen=True, slots=True)
class Step:
    """What one run said of one check on one part. state: failed, passed or open."""

    run: str
    started: str
    tier: str
    complete: bool
    state: str
    boot_id: str = ""
    since: str = ""


def course(check: str, about: Sequence[tuple[str, str]], told: Iterable[Told]) -> tuple[Step, ...]:
    """The runs that said something of a check on these parts, in the order of what they told: the newest first.

    A check that failed for other parts only has passed for these.
    """
    lines = (each for each in told if each.check == check)
    return tuple(_step(list(group), about) for _, group in groupby(lines, key=lambda each: each.run))


def _step(lines: Sequence[Told], about: Sequence[tuple[str, str]]) -> Step:
    own = [each for each in lines if each.outcome != "passed" and any(same_piece(each.piece, one) for one in about)]
    decisive = next((each for each in own if each.outcome == "failed"), own[0] if own else lines[0])
    state = decisive.outcome if own else "open" if decisive.outcome == "open" else "passed"
    return Step(decisive.run, decisive.started, decisive.tier, decisive.complete, state, decisive.boot_id, decisive.since)


def within(started: str, days: int) -> str:
    """The moment from which on a window of days counts, as runs write it; empty where nobody knows when the run began."""
    try:
        begin = datetime.datetime.fromisoformat(started[:19]) - datetime.timedelta(days=days)
    except ValueError:
        return ""
    return begin.isoformat()


class Whereabouts:
    """Where machines and parts stand in this run, by their serial numbers."""

    def __init__(self, machines: Mapping[str, Machine]) -> None:
        self._machines = machines
        self._names: dict[str, list[str]] = {}
        self._parts: dict[str, str] = {}
        self._slots: dict[tuple[str, str], str] = {}
        for name, machine in machines.items():
            if is_serial(machine.serial):
                self._names.setdefault(machine.serial, []).append(name)
            for part in machine.parts.values():
                if is_serial(part.serial):
                    self._parts[part.serial] = name
                    self._slots[name, (part.slot or part.label).lower()] = part.serial

    def now(self, told: Told) -> str:
        """The node that a line of an earlier run is about today; empty: the machine or the part is gone."""
        if told.serial in self._parts and told.outcome != "passed":
            return self._parts[told.serial]
        name = self._machine(told)
        here = self._slots.get((name, told.piece[1]), "")
        return "" if is_serial(told.serial) and here and here != told.serial else name

    def _machine(self, told: Told) -> str:
        names = self._names.get(told.machine, []) if is_serial(told.machine) else []
        if names:
            return told.node if told.node in names else names[0]
        serial = self._machines[told.node].serial if told.node in self._machines else ""
        return "" if is_serial(told.machine) and is_serial(serial) else told.node


def placed(told: Iterable[Told], machines: Mapping[str, Machine]) -> dict[str, tuple[Told, ...]]:
    """Lines of earlier runs, the newest first, by the node they are about today."""
    where = Whereabouts(machines)
    found: dict[str, list[Told]] = {}
    for each in told:
        if name := where.now(each):
            found.setdefault(name, []).append(each)
    return {name: tuple(lines) for name, lines in found.items() if any(each.outcome != "passed" for each in lines)}


def with_serials(told: Sequence[Told], installed: Mapping[tuple[str, str], Sequence[tuple[str, str]]]) -> Iterator[Told]:
    """The same, parts that did not tell their serial (a lost GPU) with the one last seen in their slot.

    installed: by node and slot, (run, serial) in the order of the runs.
    """
    for each in told:
        seen = [] if each.serial or not each.slot else installed.get((each.node, each.slot.lower()), ())
        last = next((serial for run, serial in reversed(seen) if run <= each.run), "")
        yield replace(each, serial=last) if last else each
