"""What was told to whom: the alerts that stand, and by backend those it has taken. Runs on the controller."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck.alerts.alert import Alert, of_line
from fleetcheck.report.textfile import named
from fleetcheck.run import RunError, as_json, disk, write_atomically

Alerts = dict[str, Alert]
"""By id."""


@dataclass
class Ledger:
    """standing: what is open, taken by somebody or not; taken: by backend, what it was last told to stand."""

    standing: Alerts = field(default_factory=dict)
    taken: dict[str, Alerts] = field(default_factory=dict)


def path_of(reports: Path, fleet: str) -> Path:
    """The ledger of a fleet, beside its runs."""
    return reports / f"alerts-{named(fleet)}.json"


def read(path: Path) -> Ledger:
    """The ledger; an empty one before the first call. Raises RunError where it is damaged."""
    if not path.exists():
        return Ledger()
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return Ledger(_alerts(told["standing"]), {name: _alerts(each) for name, each in told["taken"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path}: damaged ({type(error).__name__}); remove it: what stands is told again, what has ended since is "
                       "not") from error


def _alerts(told: Mapping[str, Any]) -> Alerts:
    return {key: of_line(each) for key, each in told.items()}


def write(path: Path, ledger: Ledger) -> None:
    """Keep it, whole or not at all. Raises RunError."""
    taken = {name: {key: alert.told() for key, alert in alerts.items()} for name, alerts in ledger.taken.items()}
    with disk(path):
        write_atomically(path, as_json({"standing": {key: each.told() for key, each in ledger.standing.items()}, "taken": taken}))


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """One call at a time tells a fleet's alerts. Raises RunError."""
    with disk(path):
        stream = path.with_suffix(".lock").open("a")
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RunError(f"{path}: another fleetcheck alert is at work on it; try again when it has ended") from None
        yield
