"""What a run measured as rows for its history: one each outcome, each number read and each piece installed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from fleetcheck.recording import Part
from fleetcheck.records import Result
from fleetcheck.text import clean

INSTALLED = "installed"
"""The metric of a row that says which piece is where; such a row belongs to no check."""
VERDICT = "verdict"
"""The metric of a row that says what a verdict made of a check."""
OPEN, HELD_BACK = "open", "held-back"
"""The outcome of such a row: a fatal finding not measured again, or one that many nodes shared."""
MESSAGE_CHARACTERS = 400
UNITS = {
    "celsius": "°C", "watts": "W", "bytes_per_second": "B/s", "mbytes_per_second": "MB/s", "gbytes_per_second": "GB/s",
    "mbits_per_second": "Mbit/s", "gbits_per_second": "Gbit/s", "bytes": "B", "seconds": "s", "percent": "%", "mhz": "MHz",
    "per_second": "1/s", "gb_s": "GB/s", "mb_s": "MB/s",
}
"""Endings of metric names, the longer before those they end in."""


class Row(NamedTuple):
    """One row; text that is not known is empty. metric: empty for the outcome of a check. low, high: the limit. machine: its serial."""

    node: str
    profile: str
    machine: str
    part_kind: str
    part: str
    slot: str
    serial: str
    component: str
    check: str
    metric: str
    value: float | None
    unit: str
    low: float | None
    high: float | None
    source: str
    outcome: str
    severity: str
    action: str
    message: str
    boot_id: str


@dataclass(frozen=True)
class Machine:
    """What stands at a name. serial: the machine's own; parts: by the label that checks give them."""

    profile: str = ""
    serial: str = ""
    parts: Mapping[str, Part] = field(default_factory=dict)

    def part(self, label: str) -> Part:
        """The piece of this label, or one of which only the label is known."""
        return self.parts.get(label) or Part("", label)


Place = tuple[str, str, str, str, str, str, str]
"""How a row begins: where it was measured."""
NOWHERE = Machine()
NO_PART = Part("", "")


def installed_rows(node: str, machine: Machine) -> Iterator[Row]:
    """The machine itself and its pieces, those whose serial is known."""
    own = [Part("chassis", "machine", "machine", machine.serial)] if machine.serial else []
    for part in [*own, *machine.parts.values()]:
        if part.serial:
            yield Row(*_place(node, machine, part), "", "", INSTALLED, None, *_limits(None), *_ending(None))


def result_rows(results: Iterable[Result], machines: Mapping[str, Machine]) -> Iterator[Row]:
    """Rows of results in the order in which they came; a number that several checks of a node read is told once."""
    last, told, places = "", set[tuple[str, str]](), dict[str, Place]()
    for result in results:
        if result.node != last:
            last, told, places = result.node, set(), {}
        yield from _outcome_rows(result, machines)
        yield from _metric_rows(result, machines.get(result.node, NOWHERE), told, places)


def _outcome_rows(result: Result, machines: Mapping[str, Machine]) -> Iterator[Row]:
    """One row of the check, or one each part found at fault; a check of several nodes that passed has passed on each."""
    passed_on = result.nodes if result.outcome == "passed" and not result.node else ()
    for node in result.blamed or passed_on or (result.node,):
        machine = machines.get(node, NOWHERE)
        parts = [_known(part, machine) for part in result.parts if part.get("kind") != "node"]
        for part in parts or [NO_PART]:
            where, limits, ending = _place(node, machine, part), _limits(result), _ending(result, result.message)
            yield Row(*where, result.component, result.check, "", None, *limits, *ending)


def _known(part: Mapping[str, str], machine: Machine) -> Part:
    """A part at fault, with the serial that the machine tells of it where the check did not."""
    named = Part(part.get("kind", ""), part.get("label", ""), part.get("slot", ""), part.get("serial", ""))
    known = machine.part(named.label)
    return named if named.serial or not known.serial else Part(named.kind, named.label, named.slot or known.slot, known.serial)


def _metric_rows(result: Result, machine: Machine, told: set[tuple[str, str]], places: dict[str, Place]) -> Iterator[Row]:
    """Rows of numbers not told yet. places: how the node's rows begin, by the part's label."""
    limited, ending = result if len(result.metrics) == 1 else None, _ending(result)
    for name, value in result.metrics.items():
        metric, limits = _word(name), _limits(limited, name)
        for label, number in value.items() if isinstance(value, Mapping) else (("", value),):
            if isinstance(number, (int, float)) and (name, label) not in told:
                told.add((name, label))
                if label not in places:
                    places[label] = _place(result.node, machine, machine.part(label) if label else NO_PART)
                yield Row(*places[label], result.component, result.check, metric, float(number), *limits, *ending)


def _place(node: str, machine: Machine, part: Part) -> Place:
    """What a row says of where it was measured."""
    return node, machine.profile, _word(machine.serial), _word(part.kind), _word(part.label), _word(part.slot), _word(part.serial)


def _limits(result: Result | None, metric: str = "") -> tuple[str, float | None, float | None, str]:
    """What a row says of a limit: unit, low, high and source."""
    bound = (result.bound if result else None) or {}
    return _word(bound.get("unit", "")) or unit(metric), bound.get("low"), bound.get("high"), _word(result.source if result else "")


def _ending(result: Result | None, message: str = "") -> tuple[str, str, str, str, str]:
    """What a row says of an outcome; a message only where it failed."""
    if result is None:
        return "", "", "", "", ""
    said = one_line(message) if result.outcome == "failed" else ""
    return result.outcome, result.severity, result.action, said, _word(result.boot_id)


@lru_cache(maxsize=4096)
def unit(metric: str) -> str:
    """The unit in a metric's name.

    >>> unit("gpu.thermal.temperature_celsius"), unit("gemm.tflops_bf16"), unit("nvme.width")
    ('°C', 'TFLOP/s', '')
    """
    if metric.rpartition(".")[2].startswith("tflops_"):
        return "TFLOP/s"
    return next((said for ending, said in UNITS.items() if metric.endswith(f"_{ending}")), "")


@lru_cache(maxsize=4096)
def _word(text: str) -> str:
    """Text of a node on one line, nothing in it that a terminal would obey."""
    return " ".join(clean(text, 200).split())


def one_line(message: str) -> str:
    """A finding's message, shortened, on one line."""
    return " ".join(clean(message, MESSAGE_CHARACTERS).split())


def numbers(result: Result) -> Iterator[tuple[str, str, float]]:
    """Metric, part's label and value of every number of a result."""
    for name, value in result.metrics.items():
        yield from ((name, label, number) for label, number in numbers_of(value))


def numbers_of(value: Any) -> Iterator[tuple[str, float]]:
    """Part's label and value of every number of one metric."""
    for label, number in value.items() if isinstance(value, Mapping) else (("", value),):
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            yield label, float(number)


def words_of(value: Any) -> frozenset[str]:
    """Every word of one metric; a word of several parts counts once."""
    return frozenset(each for each in (value.values() if isinstance(value, Mapping) else [value]) if isinstance(each, str))
