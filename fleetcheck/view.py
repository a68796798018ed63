"""Typed views of what a node answered: every attribute read is checked, recorded, or Absent with its reason."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from fleetcheck import recording
from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.recording import Concern, Offender, Part, Read

T = TypeVar("T")
V = TypeVar("V", bound="View")


def _typed(value: object, kind: type) -> bool:
    """Whether a JSON value is of the kind a reading promises; bool is no int, NaN is no number.

    >>> _typed(True, int), _typed(3, float), _typed(float("nan"), float)
    (False, True, False)
    """
    if kind is bool or isinstance(value, bool):
        return isinstance(value, bool) and kind is bool
    if kind is float:
        return isinstance(value, (int, float)) and math.isfinite(value)
    return isinstance(value, kind)


class View:
    """A mapping from a node's answer, read through ``Reading`` and ``Nested`` attributes. ``where`` names it in records."""

    __slots__ = ("part", "raw", "where")

    def __init__(self, raw: object, where: str, part: Part | None = None) -> None:
        self.raw: Mapping[str, Any] | Absent = raw if isinstance(raw, (Mapping, Absent)) else Absent(f"{where} is missing from the answer")
        if isinstance(raw, Mapping) and set(raw) == {"absent"}:
            self.raw = Absent(f"{where}: {raw['absent']}")
        self.where = where
        self.part = part

    @property
    def label(self) -> str:
        """How messages name this part: ``GPU 3``."""
        return self.part.label if self.part else self.where

    def get(self, key: str, kind: type) -> Any:
        """The value under key, noted on the running check; Absent when missing, unmeasured or of another type."""
        name = f"{self.where}.{key}"
        value = self._value(key, kind, name)
        running = recording.current()
        if running is not None:
            running.reads.append(Read(name, value, self.part))
        return value

    def _value(self, key: str, kind: type, name: str) -> Any:
        if isinstance(self.raw, Absent):
            return self.raw
        if key not in self.raw:
            return Absent(f"{self.label}: {name} is missing from the answer")
        value = self.raw[key]
        if isinstance(value, Mapping) and set(value) == {"absent"}:
            return Absent(f"{self.label}: {name}: {value['absent']}")
        if not _typed(value, kind):
            return Absent(f"{self.label}: {name} is {value!r:.80}, not {kind.__name__}")
        return value


class Reading(Generic[T]):
    """An attribute of a View holding one measured value. ``temperature_celsius = Reading(int)``."""

    def __init__(self, kind: type[T], key: str = "") -> None:
        self.kind = kind
        self.key = key

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    @overload
    def __get__(self, view: None, owner: type) -> Reading[T]: ...
    @overload
    def __get__(self, view: View, owner: type) -> T: ...
    def __get__(self, view: View | None, owner: type) -> T | Reading[T]:
        return self if view is None else view.get(self.key, self.kind)


class Nested(Generic[V]):
    """An attribute of a View that is itself a View of the mapping under the same key."""

    def __init__(self, kind: type[V], key: str = "") -> None:
        self.kind = kind
        self.key = key

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    @overload
    def __get__(self, view: None, owner: type) -> Nested[V]: ...
    @overload
    def __get__(self, view: View, owner: type) -> V: ...
    def __get__(self, view: View | None, owner: type) -> V | Nested[V]:
        if view is None:
            return self
        raw = view.raw.get(self.key) if isinstance(view.raw, Mapping) else view.raw
        return self.kind(raw, f"{view.where}.{self.key}", view.part)


class Parts(Sequence[V]):
    """The parts of one kind that a node showed, against how many the profile promises.

    Iterating, indexing or taking the length of an incomplete collection raises NotMeasured: a loop over 7 of 8 GPUs cannot
    pass. ``offending`` names the faulty among those that answered even then, so that one dead part hides no other.
    ``unreadable`` lists parts that exist but did not answer, each with its reason.
    """

    def __init__(self, views: Sequence[V], what: str, expected: int | None = None, unreadable: Sequence[str] = ()) -> None:
        self.present = tuple(views)
        self.what = what
        self.expected = expected
        self.unreadable = tuple(unreadable)

    @property
    def coverage(self) -> str:
        """Such as ``7 of 8 GPUs``."""
        return f"{len(self.present)} of {len(self.present) if self.expected is None else self.expected} {self.what}"

    def gaps(self) -> list[str]:
        """Why this collection is incomplete; empty when it is complete."""
        gaps = list(self.unreadable)
        if self.expected is not None and len(self.present) + len(gaps) != self.expected:
            gaps.append(f"{self.coverage} answered")
        return gaps

    def _complete(self) -> tuple[V, ...]:
        running = recording.current()
        if running is not None:
            running.coverage.append(self.coverage)
        gaps = self.gaps()
        if gaps:
            raise NotMeasured("; ".join(gaps))
        return self.present

    def __iter__(self) -> Iterator[V]:
        return iter(self._complete())

    def __len__(self) -> int:
        return len(self._complete())

    def __getitem__(self, index: Any) -> Any:
        return self._complete()[index]

    def offending(self, predicate: Callable[[V], object]) -> list[Offender]:
        """The parts for which the predicate is true, each with what was read of it; a Concern says why in its own words.

        Raises NotMeasured only when nothing offends and something could not be judged: a measured fault is never hidden by a
        part that did not answer.
        """
        offenders, gaps = [], self.gaps()
        for view in self.present:
            try:
                found = predicate(view)
                if found:
                    offenders.append(_offender(view, found))
            except NotMeasured as unmeasured:
                gaps.append(str(unmeasured))
        _note(offenders, self.coverage)
        if gaps and not offenders:
            raise NotMeasured("; ".join(gaps))
        return offenders


def alone(view: V) -> Parts[V]:
    """A view as the one part of its kind, for checks whose finding decides its own severity and action."""
    return Parts([view], view.label, 1)


def _offender(view: View, found: object) -> Offender:
    if isinstance(found, Concern):
        return Offender(view.part, f"{view.label}: {found.text}", found.severity, found.action, found.cause)
    return Offender(view.part, f"{view.label}: {_what_was_read(view)}")


def _what_was_read(view: View) -> str:
    """The last comparison or readings of this part, as an operator reads them: ``pcie.width 8 lanes (limit 16 lanes)``."""
    running = recording.current()
    if running is None:
        return "offends"
    last = running.comparisons[-1] if running.comparisons else None
    if last is not None and not last.within and last.read is not None and last.read.part == view.part:
        return f"{_short(last.read.name)} {last.value} (limit {last.bound})"
    reads = [read for read in running.reads if read.part == view.part and not isinstance(read.value, Absent)]
    return f"{_short(reads[-1].name)} {reads[-1].value}" if reads else "offends"


def _short(name: str) -> str:
    """Drop the leading noun: ``gpu.ecc.volatile_uncorrected`` → ``ecc.volatile_uncorrected``."""
    return name.partition(".")[2] or name


def _note(offenders: Sequence[Offender], coverage: str) -> None:
    running = recording.current()
    if running is not None:
        running.offenders.extend(offenders)
        running.coverage.append(coverage)
