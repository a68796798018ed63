"""What became of one planned trial, and whoever runs it. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fleetcheck.collective.rounds import Planned
from fleetcheck.collective.trial import Trial


@dataclass(frozen=True)
class Ran:
    """trial: None where it could not be run, why: in words then; lost: members that it was for, each with the reason.
    told: by member, what else it said, as JSON takes it.
    """

    trial: Trial | None
    why: str = ""
    lost: Mapping[str, str] = field(default_factory=dict)
    told: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Launcher(Protocol):
    """Runs ranks on the members of a trial and comes back within its deadline, whatever they do."""

    def run(self, planned: Planned, number: int, name: str) -> Ran:
        """One trial of round number, called name."""
        ...

    def close(self) -> None:
        """End every trial in flight."""
        ...
