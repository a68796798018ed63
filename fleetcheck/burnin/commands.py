"""What ``fleetcheck plan`` and ``fleetcheck watch`` do. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TextIO, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fleetcheck.burnin import clock, schedule
from fleetcheck.burnin.book import NAME
from fleetcheck.burnin.ends import PATIENCE
from fleetcheck.burnin.forecast import HEADS, Forecast, forecast
from fleetcheck.burnin.terms import Asked, LoadRefused, settle
from fleetcheck.burnin.watch import watch
from fleetcheck.collective.campaign import terms as together
from fleetcheck.collective.campaign.terms import TIERS, usual
from fleetcheck.inventory import Inventory, select
from fleetcheck.run import Run, find

Value = TypeVar("Value")


def show_forecast(inventory: Inventory, screen: TextIO, *, nodes: str, group: str, tier: str, duration: str, until: str,
                  max_loaded: int | None, pairs: str = "") -> None:
    """Settle terms as a run would, and print them. Raises LoadRefused or InventoryError."""
    if tier not in schedule.TIMES:
        raise LoadRefused(f"--tier {tier!r:.40}: expected one of {', '.join(schedule.TIMES)}")
    if pairs not in ("", *together.MODES):
        raise LoadRefused(f"--pairs {pairs!r:.40}: expected one of {', '.join(together.MODES)}")
    now = datetime.datetime.now()
    end = _read("--until", until, lambda text: clock.until(text, now)) if until else None
    asked = Asked(tier, _read("--duration", duration, clock.duration) if duration else None, end, max_loaded)
    wanted = {node.name: schedule.LOADS for node in select(inventory, nodes, group) if node.in_service}
    if not wanted:
        raise LoadRefused(f"{inventory.path}: none of the selected nodes is in service")
    terms = settle(asked, inventory, wanted, now.astimezone(), which=lambda program: program)  # the claim's programs are the run's business
    found = forecast(inventory, terms, PATIENCE.stagger)
    if tier in TIERS:
        found.lines.extend(_together(inventory, wanted, pairs or usual(tier), tier))
    _print(found, screen)


def _together(inventory: Inventory, wanted: Collection[str], mode: str, tier: str) -> Iterator[str]:
    """What trials of several nodes take on top. Raises LoadRefused."""
    settled = together.settle(inventory, wanted, mode, which=lambda program: program, tier=tier)
    for profile, kind in settled.kinds.items():
        alone = settled.by_themselves and together.nvlink_sharp(inventory.profiles[profile])
        rounds = together.rounds_of(len(kind), mode, alone)
        yield (f"then {len(kind)} nodes with each other, {'every pair' if mode == 'full' else 'two rounds of pairs'} and groups up to all"
               f"{', each alone with NVLink SHARP and without' if alone else ''}: "
               f"{rounds} rounds, about {clock.words(rounds * together.ROUND_SECONDS)} if nothing is found")


def _read(option: str, text: str, read: Callable[[str], Value]) -> Value:
    try:
        return read(text)
    except ValueError as mistake:
        raise LoadRefused(f"{option}: {mistake}") from None


def _print(found: Forecast, screen: TextIO) -> None:
    console = Console(file=screen, highlight=False, width=None if screen.isatty() else 160)
    page = Table(box=None, pad_edge=False)
    for head in HEADS:
        page.add_column(head)
    for row in found.rows:
        page.add_row(*(Text(cell) for cell in row))
    console.print(page)
    for line in found.lines:
        console.print(Text(line), soft_wrap=True)


def running(reports: Path, name: str) -> Run:
    """The run of this name; ``latest`` is here the newest that loads nodes, though it has not ended. Raises RunError."""
    if name == "latest" and reports.is_dir():
        newest = max((path.parent for path in reports.glob(f"*/{NAME}") if not path.parent.is_symlink()), default=None)
        if newest is not None:
            return Run(newest)
    return find(reports, name)


__all__ = ["running", "show_forecast", "watch"]
