"""A run's loads while they go on, from its loads.jsonl: who is loaded, done or in trouble, and what the latest windows say."""

from __future__ import annotations

import datetime
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fleetcheck.burnin import clock
from fleetcheck.burnin.book import NAME, Line, heads, rest_at, windows_at
from fleetcheck.burnin.record import Kept
from fleetcheck.quoting import escaped
from fleetcheck.run import Run, RunError

LOOK_SECONDS = 2.0
LINE_SECONDS = 60.0
OVER = ("ended", "deferred", "failed", "unloaded", "lost", "fetched")
TROUBLE = ("deferred", "failed", "unloaded", "lost")
MOST_ROWS = 40
HEADS = ("node", "state", "load", "ends in", "windows", "latest", "trouble")


@dataclass
class Seen:
    """One node's load as its lines tell it. last: where its latest poll begins; broken: loads that did not end well."""

    kept: Kept = field(default_factory=Kept)
    current: str = ""
    ends: datetime.datetime | None = None
    message: str = ""
    last: int = -1
    events: int = 0
    broken: dict[str, str] = field(default_factory=dict)

    def take(self, offset: int, line: Line) -> None:
        """One more line about the node."""
        if line.what == "starting":
            self.__dict__.update(Seen().__dict__)
        self.kept.take(offset, line)
        about = line.about
        self.message = str(about.get("message", "")) if line.what in ("silent", *TROUBLE) else ""
        if line.what in ("started", "polled") and isinstance(about.get("ends_in"), (int, float)):
            self.ends = datetime.datetime.fromisoformat(line.time) + datetime.timedelta(seconds=about["ends_in"])
        if line.what == "polled":
            self.current, self.last = str(about.get("current", "")), offset
            self.events += int(about.get("events", 0))

    @property
    def over(self) -> bool:
        """Whether nothing more comes."""
        return self.kept.state in OVER

    @property
    def trouble(self) -> str:
        """What is wrong, in words."""
        broken = "; ".join(f"{load}: {said}" for load, said in self.broken.items())
        return "; ".join(filter(None, (self.message, broken)))


class Watched:
    """The loads of a run, read on from where they were read to."""

    def __init__(self, run: Run) -> None:
        self.path = run.path / NAME
        self.nodes: dict[str, Seen] = {}
        self.terms: Mapping[str, Any] = {}
        self._read = 0

    def look(self) -> None:
        """Read what is new. Raises RunError."""
        if not self.path.exists():
            raise RunError(f"{self.path}: this run loads no node; the run's own page: fleetcheck report {self.path.parent.name}")
        for offset, after, line in heads(self.path, self._read):
            self._read = after
            if not line.node:
                self.terms = line.about
                continue
            seen = self.nodes.setdefault(line.node, Seen())
            seen.take(offset, line)
            if line.what == "polled" and line.about.get("done"):
                seen.broken.update(_broken(self.path, offset))

    @property
    def over(self) -> bool:
        """Whether every node that was to be loaded is done with."""
        return len(self.nodes) >= int(self.terms.get("nodes", 1)) and all(each.over for each in self.nodes.values())

    def line(self) -> str:
        """All of it in one line."""
        over = sum(each.over for each in self.nodes.values())
        loaded = sum(not each.over for each in self.nodes.values())
        failing = sum(bool(each.trouble) for each in self.nodes.values())
        ends = max((each.ends for each in self.nodes.values() if each.ends and not each.over), default=None)
        eta = f", running loads end {ends.astimezone():%H:%M} (in {clock.words(max(0.0, _seconds_to(ends)))})" if ends else ""
        return f"{loaded} nodes loaded, {over} of {self.terms.get('nodes', len(self.nodes))} done, {failing} with trouble{eta}"

    def rows(self) -> Iterator[tuple[str, ...]]:
        """By node, those with trouble first, then those under load."""
        for name, seen in sorted(self.nodes.items(), key=lambda each: (not each[1].trouble, each[1].over, each[0])):
            left = clock.words(max(0.0, _seconds_to(seen.ends))) if seen.ends and not seen.over else ""
            latest = _latest(self.path, seen.last) if seen.last >= 0 else ""
            yield name, seen.kept.state, seen.current, left, str(seen.kept.windows), latest, seen.trouble


def _seconds_to(moment: datetime.datetime) -> float:
    return (moment - datetime.datetime.now(datetime.UTC)).total_seconds()


def _broken(path: Path, offset: int) -> dict[str, str]:
    """The loads of a poll that did not end well, with what they said."""
    results = rest_at(path, offset).get("results", {})
    return {str(load): escaped(str(told.get("error") or "not ok"))[:120] for load, told in results.items()
            if isinstance(told, Mapping) and told.get("ok") is not True}


def _latest(path: Path, offset: int) -> str:
    """The last window of a poll: the hottest accelerator and the power of all."""
    windows = windows_at(path, offset)
    gpus = windows[-1].get("gpus") if windows and isinstance(windows[-1], Mapping) else None
    values = [gpu for gpu in gpus.values() if isinstance(gpu, Mapping)] if isinstance(gpus, Mapping) else []
    hottest = max(_numbers(values, "temperature", 2), default=None)
    power = _numbers(values, "power", 1)
    return ", ".join(filter(None, (f"{hottest:.0f} °C" if hottest is not None else "", f"{sum(power) / 1000:.1f} kW" if power else "")))


def _numbers(gpus: Sequence[Mapping[str, Any]], name: str, place: int) -> list[float]:
    """One of min, mean and max of every accelerator that told it."""
    found = [gpu[name][place] for gpu in gpus if isinstance(gpu.get(name), list) and len(gpu[name]) == 3]
    return [float(value) for value in found if isinstance(value, (int, float)) and not isinstance(value, bool)]


def table(watched: Watched) -> Table:
    """The page of the moment."""
    page = Table(title=Text(watched.line()), title_justify="left", box=None, pad_edge=False)
    for head in HEADS:
        page.add_column(head)
    rows = list(watched.rows())
    for row in rows[:MOST_ROWS]:
        page.add_row(*(Text(cell) for cell in row))
    if len(rows) > MOST_ROWS:
        page.caption = f"and {len(rows) - MOST_ROWS} more nodes"
    return page


def watch(run: Run, screen: TextIO, once: bool = False) -> None:
    """Show a run's loads until they are over: a live table on a terminal, else a line a minute and the table at the end.

    Raises RunError when the run loads nobody.
    """
    watched, console = Watched(run), Console(file=screen, highlight=False, width=None if screen.isatty() else 200)
    watched.look()
    if screen.isatty() and not (once or watched.over):
        with Live(table(watched), console=console, refresh_per_second=2) as live:
            while not watched.over:
                time.sleep(LOOK_SECONDS)
                watched.look()
                live.update(table(watched))
        return
    _by_lines(watched, console, once)


def _by_lines(watched: Watched, console: Console, once: bool) -> None:
    shown = float("-inf")
    while not (once or watched.over):
        if time.monotonic() - shown >= LINE_SECONDS:
            shown = time.monotonic()
            console.print(Text(f"{time.strftime('%H:%M:%S')} {watched.line()}"))
        time.sleep(LOOK_SECONDS)
        watched.look()
    console.print(table(watched))
