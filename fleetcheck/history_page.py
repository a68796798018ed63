"""``fleetcheck history``: what earlier runs say of a node, a serial number, a check or the fleet, as tables. Runs on the controller."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fleetcheck import history_queries as asks
from fleetcheck.history import WINDOW_DAYS, Answered, History
from fleetcheck.report.lines import said
from fleetcheck.run import RunError

ROWS = 20
WIDE = 200
"""Columns where the output is no terminal."""
NARROW = 100
"""A terminal narrower than this breaks long lines itself: a dozen columns squeezed into it would be a letter wide."""


def show(reports: Path, what: str, stream: TextIO, everything: bool = False) -> None:
    """Print the history of what is named, or the fleet's where nothing is. Raises RunError."""
    with History(reports) as history:
        if not history.files:
            raise RunError(f"{reports}: no run there holds measurements; they are written when a run ends")
        console = _console(stream)
        tables = _named(history, what) if what else _fleet(history)
        for title, answered in tables:
            _print(console, title, answered, 0 if everything else ROWS)
        for line in history.skipped:
            console.print(Text(line, style="yellow"))


def _console(stream: TextIO) -> Console:
    fitting = Console(file=stream, markup=False, emoji=False, highlight=False)
    if not stream.isatty() or fitting.width < NARROW:
        fitting.width = WIDE
    return fitting


def kind(history: History, what: str) -> str:
    """Whether a word names a node, a serial or a check in the history. Raises RunError where it names nothing."""
    for name, about in asks.ABOUT.items():
        if history.ask(asks.KNOWN.format(about=about), {"what": what}).rows:
            return name
    raise RunError(f"{what!r:.80} is no node, serial number or check of the {len(history.files)} runs under {history.reports}")


def _named(history: History, what: str) -> list[tuple[str, Answered]]:
    sort = kind(history, what)
    told, about = {"what": what}, asks.ABOUT[sort]
    findings = (f"{sort} {what}: findings", history.ask(asks.FINDINGS.format(about=about), told))
    drift = ("drift against the part's own past", history.ask(asks.DRIFT.format(about=about), told))
    stood = (f"{sort} {what}: what stood where", history.ask(asks.STOOD.format(about=about), told)) if sort != "check" else None
    return [findings, drift, *([stood] if stood else [])]


def _fleet(history: History) -> list[tuple[str, Answered]]:
    since = {"since": (history.now - datetime.timedelta(days=WINDOW_DAYS)).replace(tzinfo=None)}
    return [
        ("runs", history.ask(asks.RUNS)),
        (f"repeat offenders of {WINDOW_DAYS} days, by part", history.ask(asks.OFFENDERS, since)),
        (f"nodes that failed of something else each time, of {WINDOW_DAYS} days", history.ask(asks.OFFENDING_NODES, since)),
        (f"suspects of {WINDOW_DAYS} days", history.ask(asks.SUSPECTS, since)),
        ("node-days between failures, by component", history.ask(asks.MTBF)),
    ]


def _print(console: Console, title: str, answered: Answered, limit: int) -> None:
    if not answered.rows:
        console.print(Text(f"{title}: none"))
        return
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in answered.columns:
        table.add_column(name.replace("_", " "), overflow="fold")
    for row in answered.rows[: limit or None]:
        table.add_row(*(Text(_cell(value)) for value in row))
    console.print(table)
    if limit and len(answered.rows) > limit:
        console.print(Text(f"… and {len(answered.rows) - limit} more, see --all"))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.4g}" if isinstance(value, float) else said(str(value)) if value is not None else ""


