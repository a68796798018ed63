"""Where metrics.prom is written: into the run, and for node_exporter's textfile collector. Runs on the controller."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from fleetcheck.report.prometheus import Measured, Shown, measured_in, of_run, text
from fleetcheck.run import Run, RunError, disk, runs, write_atomically
from fleetcheck.standing import Ran, Standing, stand

FILE = "metrics.prom"
READABLE = 0o644
"""node_exporter is another user."""


def write(run: Run, measured: Measured, floor: int | None = None) -> Path:
    """metrics.prom of a judged run, in its folder. Raises RunError."""
    target = run.path / FILE
    with disk(target):
        write_atomically(target, text(of_run(told(run), measured, floor)))
    return target


def told(run: Run) -> Ran:
    """A judged run as its files tell it now, whatever was read of them before. Raises RunError."""
    facts = Run(run.path).facts
    return Ran(run.conclusions(), str(facts.get("ended", "")), whole=not (facts.get("nodes") or facts.get("group")))


def runs_of(reports: Path, fleet: str, tier: str = "") -> Iterator[Ran]:
    """The judged runs of a fleet, and of a tier if one is named, the newest first; replays, and what cannot be read, are passed over."""
    for run in runs(reports):
        try:
            if _counts(run.facts, fleet, tier):
                yield told(run)
        except (RunError, AttributeError):
            continue


def _counts(facts: Mapping[str, Any], fleet: str, tier: str) -> bool:
    """Whether run.json tells of a run of this fleet and tier that ended and asked nodes."""
    ours = facts.get("fleet") == fleet and (not tier or facts.get("tier") == tier)
    return bool(ours and facts.get("ended") and not facts.get("replay_of"))


def publish(directory: Path, run: Run, measured: Measured, floor: int | None = None) -> Path | None:
    """Write how the fleet stands in the run's tier, as all runs of its reports folder tell it; None where a replay tells nothing.

    measured: of this run. Raises RunError.
    """
    verdicts = run.conclusions()
    if verdicts["replay_of"]:
        return None
    standing = stand(runs_of(run.path.parent, verdicts["fleet"], verdicts["tier"]))
    target = directory / name(verdicts["fleet"], verdicts["tier"])
    shown = composed(standing, floor, lambda ran: _measured(run, ran, measured))
    if shown:
        try:
            write_atomically(target, text(shown), READABLE)
        except OSError as error:
            raise RunError(f"cannot write {target}: {error.strerror}; then: fleetcheck judge {run.id} --metrics-dir {directory}") from error
    return target


def composed(standing: Standing, floor: int | None, measured: Callable[[Ran], Measured]) -> Shown | None:
    """A standing as metrics show it, each node from the run that counts for it; None where nothing ran."""
    if standing.newest is None:
        return None
    used = {run.verdicts["run"]: run for run in standing.nodes.values()}
    values = {name: measured(run) for name, run in used.items()}
    return Shown(
        standing.newest, {name: standing.node(name) for name in standing.nodes},
        {name: run.ended for name, run in standing.nodes.items()}, standing.last_complete,
        [each for run in standing.of_fleet for each in run.verdicts["fleet_findings"]],
        {name: values[run.verdicts["run"]].get(name, {}) for name, run in standing.nodes.items()}, floor,
        frozenset(name for name, run in standing.nodes.items() if name in run.silenced),
    )


def _measured(run: Run, ran: Ran, measured: Measured) -> Measured:
    """Of this run what it just measured, of an earlier one what its metrics.prom says; nothing where that is gone."""
    if ran.verdicts["run"] == run.id:
        return measured
    try:
        return measured_in((run.path.parent / ran.verdicts["run"] / FILE).read_text())
    except (OSError, ValueError, KeyError):
        return {}


def name(fleet: str, tier: str) -> str:
    """The file of a fleet's tier; two fleets never share one.

    >>> name("rack12", "quick"), name("a/b", "full")
    ('fleetcheck-rack12-quick.prom', 'fleetcheck-a_b.07f4401c-full.prom')
    """
    return f"fleetcheck-{named(fleet)}-{tier}.prom"


def named(fleet: str) -> str:
    """A fleet's name as part of a file's; what had to be replaced leaves a mark."""
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", fleet)
    return safe if safe == fleet else f"{safe}.{zlib.crc32(fleet.encode()):08x}"


def checked(directory: str, said: str = "--metrics-dir") -> Path:
    """The directory, where metrics can be written to. said: what names it. Raises RunError before a run begins, not after it has ended."""
    path = Path(directory).expanduser()
    if not path.is_dir():
        raise RunError(f"{said} {path}: no such directory; expected that of node_exporter's --collector.textfile.directory")
    if not os.access(path, os.W_OK | os.X_OK):
        raise RunError(f"{said} {path}: this user cannot write there; give it the right, or name another directory")
    return path
