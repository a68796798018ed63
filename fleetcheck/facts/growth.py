"""Counters read twice: what counts is how fast they grow, not how high they stand. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from fleetcheck import recording
from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.recording import Part, Read
from fleetcheck.view import Reading, View

V = TypeVar("V")


class Growth(View):
    """Two samples of totals with the time between them: ``{first: …, second: …, elapsed_seconds}``."""

    __slots__ = ()
    elapsed_seconds = Reading(float)

    def names(self, *path: str) -> tuple[str, ...]:
        """The counters below a path that either sample lists; NotMeasured when one was not told."""
        samples = [self._below(sample, path).raw for sample in ("first", "second")]
        for raw in samples:
            if isinstance(raw, Absent):
                raise NotMeasured(raw.reason)
        return tuple(dict.fromkeys(name for raw in samples for name in raw))

    def per_second(self, *path: str) -> float:
        """Growth of one counter in a second. NotMeasured when a sample lacks it or it went backwards (its device was reset)."""
        first, second = (self.total(sample, *path) for sample in ("first", "second"))
        grown, elapsed = second - first, self.elapsed_seconds
        if grown < 0 or elapsed <= 0:
            raise NotMeasured(f"{self.label}: {path[-1]} went from {first} to {second} in {elapsed:g} s")
        return noted(f"{self.where}.{path[-1]}_per_second", grown / elapsed, self.part)

    def total(self, sample: str, *path: str) -> int:
        """One counter in one sample."""
        total: int = self._below(sample, path[:-1]).get(path[-1], int)
        return total

    def _below(self, sample: str, path: tuple[str, ...]) -> View:
        view = View(self.raw, self.where, self.part)
        for key in (sample, *path):
            raw = view.raw.get(key) if isinstance(view.raw, Mapping) else view.raw
            view = View(raw, f"{view.where}.{key}", self.part)
        return view


def noted(name: str, value: V, part: Part | None = None) -> V:
    """A value worked out from readings, noted on the running check like one that was read."""
    running = recording.current()
    if running is not None:
        running.reads.append(Read(name, value, part))
    return value


def measured(value: V) -> V:
    """The value; NotMeasured when it is Absent. For values whose own methods are called."""
    if isinstance(value, Absent):
        raise NotMeasured(value.reason)
    return value
