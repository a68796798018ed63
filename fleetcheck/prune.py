"""Old runs: what nodes answered goes after a month, what was concluded after a year. Runs on the controller."""

from __future__ import annotations

import datetime
import shutil
from dataclasses import dataclass
from pathlib import Path

from fleetcheck.run import Run, RunError, began, disk, runs

EVIDENCE_DAYS, MEASUREMENTS_DAYS = 30, 400
EVIDENCE = ("evidence.jsonl", "loads.jsonl", "gather.log")
"""What is of no use without a replay."""


@dataclass(frozen=True)
class Old:
    """Something to remove. what: ``evidence`` or ``the whole run``; paths: files, or the run's folder."""

    run: Run
    what: str
    paths: tuple[Path, ...]
    days: int

    @property
    def bytes(self) -> int:
        """What it takes on the disk."""
        files = [file for path in self.paths for file in (path.rglob("*") if path.is_dir() else [path])]
        return sum(file.lstat().st_size for file in files if file.is_file() and not file.is_symlink())

    def remove(self) -> None:
        """Raises RunError when the disk refuses."""
        with disk(self.run.path):
            for path in self.paths:
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)


def old(reports: Path, now: datetime.datetime, evidence_days: int = EVIDENCE_DAYS, measurements_days: int = MEASUREMENTS_DAYS) -> list[Old]:
    """What may go, oldest first; never anything of a fleet's latest complete run, nor of the run that ``latest`` names.

    Folders that are no runs are left alone. Raises RunError when there is no such reports folder.
    """
    if not reports.is_dir():
        raise RunError(f"{reports}: no such folder; name the one with the runs: --reports DIR")
    kept = list(runs(reports))[::-1]
    spared = _spared(reports, kept)
    found = (_old(run, (now - began(run)).days, evidence_days, measurements_days) for run in kept if run.id not in spared)
    return [each for each in found if each]


def _spared(reports: Path, runs: list[Run]) -> set[str]:
    """The latest complete run of each fleet and tier, and the run ``latest`` names."""
    latest: dict[tuple[str, str], str] = {}
    for run in runs:
        facts = _facts(run)
        if facts.get("complete") is True:
            latest[str(facts.get("fleet")), str(facts.get("tier"))] = run.id
    link = reports / "latest"
    return {*latest.values(), *([link.resolve().name] if link.is_symlink() else [])}


def _facts(run: Run) -> dict[str, object]:
    """A run whose file is damaged is never the latest complete one."""
    try:
        return run.facts
    except RunError:
        return {}


def _old(run: Run, days: int, evidence_days: int, measurements_days: int) -> Old | None:
    if days >= measurements_days:
        return Old(run, "the whole run", (run.path,), days)
    files = tuple(path for name in EVIDENCE if (path := run.path / name).is_file())
    return Old(run, "evidence", files, days) if files and days >= evidence_days else None
