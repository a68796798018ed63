"""What every check said of every node, a letter each, and by which limits: small enough for 12,500 nodes in one page. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from typing import Any

from fleetcheck.inventory import fold
from fleetcheck.reconcile import item
from fleetcheck.records import Planned, Result

LETTERS = ".spemcwdf"
"""An item in its order of gravity: not planned, skipped, passed, not measured, no outcome at all, failed as many did, then by severity."""
FAILED = {"warn": "w", "degraded": "d", "fatal": "f"}
OTHER = {"passed": "p", "skipped": "s", "error": "e"}
DATED = re.compile(r"(.*) \((\d{4}-\d{2}-\d{2})\)", re.DOTALL)
MESSAGES_OF_A_NODE = 12


@dataclass
class Limit:
    """One limit of a check as nodes were measured against it. low, high: the extremes measured, where the check measures one number."""

    text: str
    source: str
    date: str
    nodes: int = 0
    low: float | None = None
    high: float | None = None


@dataclass
class CheckRow:
    """One check over all nodes."""

    name: str
    file: str
    component: str
    stage: str
    severity: str
    action: str
    number: int
    description: str = ""
    limits: dict[str, Limit] = field(default_factory=dict)


@dataclass
class Outcomes:
    """Results of a run, added one by one. planned: at least the first item of every check; marks: by node, by check number, its letter;
    gaps: by node, why which checks were not measured; shared: by check number, items about several nodes with their letters; several: those
    of them that did not pass."""

    verdicts: Mapping[str, Any]
    planned: Iterable[Planned]
    checks: dict[str, CheckRow] = field(default_factory=dict)
    marks: dict[str, bytearray] = field(default_factory=dict)
    gaps: dict[str, dict[str, list[int]]] = field(default_factory=lambda: defaultdict(dict))
    several: list[dict[str, Any]] = field(default_factory=list)
    pairs: dict[str, list[tuple[str, str, float]]] = field(default_factory=lambda: defaultdict(list))
    shared: dict[int, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))

    def __post_init__(self) -> None:
        """Items that the verdicts miss are lost until a result is added."""
        self.common = {(name, each["check"]) for name, node in self.verdicts["nodes"].items() for each in node["findings"]
                       if each["common_cause"]}
        for each in self.planned:
            self._row(each)
        self.planned = ()
        for lost in self.verdicts["missing"]:
            self._mark(self.checks[lost["check"]], lost["node"], lost["item"], "m")

    def _row(self, record: Planned | Result) -> CheckRow:
        row = self.checks.get(record.check)
        if row is None:
            row = CheckRow(record.check, record.nodeid.partition("::")[0], record.component, record.stage, record.severity, record.action,
                           len(self.checks))
            self.checks[record.check] = row
        return row

    def _mark(self, row: CheckRow, node: str, named: str, letter: str) -> None:
        """The graver of two outcomes of a check on one node stands; any outcome takes the place of none at all. named: an item of several
        nodes."""
        if not node:
            self.shared[row.number][named] = letter
            return
        marks = self.marks.setdefault(node, bytearray())
        marks.extend(b"." * (row.number + 1 - len(marks)))
        before = chr(marks[row.number])
        if before in ".m" or LETTERS.index(letter) > LETTERS.index(before):
            marks[row.number] = ord(letter)

    def add(self, result: Result) -> None:
        """Count one result, whole."""
        row = self._row(result)
        if result.node:
            self.count(result.check, result.node, result.outcome, result.severity, result.description, result.message)
        else:
            row.description = row.description or result.description
            self._mark(row, "", item(result), self._letter("", result.check, result.outcome, result.severity))
            self._several(result, row)
        if result.bound and result.outcome in ("passed", "failed"):
            self.limit(result.check, result.bound, result.source, result.metrics)

    def count(self, check: str, node: str, outcome: str, severity: str, description: str, message: str) -> None:
        """Count what a known check said of one node."""
        row = self.checks[check]
        row.description = row.description or description
        self._mark(row, node, "", self._letter(node, check, outcome, severity))
        if outcome == "error":
            self._gap(node, message, row)

    def limit(self, check: str, bound: Mapping[str, Any], source: str, metrics: Mapping[str, Any]) -> None:
        """Count by which limit, of whom and when, a value was judged, and the extremes measured."""
        limits = self.checks[check].limits
        limit = limits.get(key := f"{bound} {source}") or limits.setdefault(key, _limit(bound, source))
        limit.nodes += 1
        values = _single(metrics) if "allowed" not in bound else []
        if values:
            limit.low = min(values) if limit.low is None else min(limit.low, *values)
            limit.high = max(values) if limit.high is None else max(limit.high, *values)

    def _letter(self, node: str, check: str, outcome: str, severity: str) -> str:
        if outcome != "failed":
            return OTHER.get(outcome, "e")
        return "c" if (node, check) in self.common else FAILED.get(severity, "f")

    def _gap(self, node: str, message: str, row: CheckRow) -> None:
        told = self.gaps[node]
        words = message[:400]
        reason = words if words in told or len(told) < MESSAGES_OF_A_NODE else "other reasons: see results.jsonl"
        told.setdefault(reason, []).append(row.number)

    def _several(self, result: Result, row: CheckRow) -> None:
        if result.outcome in ("failed", "error"):
            letter = self._letter("", result.check, result.outcome, result.severity)
            self.several.append({"check": row.number, "letter": letter, "nodes": fold(result.nodes), "message": result.message[:600],
                                 "action": result.action})
        pair = pair_of(result)
        if pair:
            self.pairs[pair[0]].append((result.nodes[0], result.nodes[1], pair[1]))

    def counts(self, row: CheckRow) -> Counter[str]:
        """How often which letter was given to the items of a check."""
        return self._counted[row.number] + Counter(self.shared.get(row.number, {}).values())

    @cached_property
    def _counted(self) -> list[Counter[str]]:
        """By check number, the letters of items about one node; asked for when every result was added."""
        columns = zip_longest(*self.marks.values(), fillvalue=ord("."))
        counted = [Counter({chr(letter): count for letter, count in Counter(column).items()}) for column in columns]
        return counted + [Counter()] * (len(self.checks) - len(counted))


def _limit(bound: Mapping[str, Any], said: str) -> Limit:
    match = DATED.fullmatch(said)
    source, date = match.groups() if match else (said, "")
    return Limit(bound_text(bound), source, date)


def bound_text(bound: Mapping[str, Any]) -> str:
    """A recorded limit in words.

    >>> bound_text({"low": 8, "high": 8, "unit": "GPUs"}), bound_text({"allowed": ["a", "b"]})
    ('8 GPUs', 'a or b')
    """
    if "allowed" in bound:
        return " or ".join(map(str, bound["allowed"]))
    low, high, unit = bound.get("low"), bound.get("high"), str(bound.get("unit", ""))
    if low == high:
        return f"{number(low)} {unit}".rstrip()
    ends = [f"≥ {number(low)}" if low is not None else "", f"≤ {number(high)}" if high is not None else ""]
    return f"{' and '.join(filter(None, ends))} {unit}".rstrip()


def number(value: Any) -> str:
    """A number without needless digits."""
    return f"{value:g}" if is_number(value) else str(value)


def _single(metrics: Mapping[str, Any]) -> list[float]:
    """The numbers of a result that measured one thing, on one part or several; nothing where it measured more than that."""
    if len(metrics) != 1:
        return []
    (value,) = metrics.values()
    return [each for each in (value.values() if isinstance(value, Mapping) else [value]) if is_number(each)]


def is_number(value: object) -> bool:
    """Whether a value is a finite number that a node may have told."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e30


def pair_of(result: Result) -> tuple[str, float] | None:
    """The bandwidth of a result about two nodes, in gigabytes a second, and what the figure is called."""
    if len(result.nodes) != 2:
        return None
    for name, value in result.metrics.items():
        if ("busbw" in name or name.endswith(("gb_s", "gbytes_per_second"))) and is_number(value):
            return name, float(value)
    return None
