"""Hours under load of one node since its clock began, over its acceptance runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fleetcheck.acceptance.restart import restart
from fleetcheck.acceptance.standing import Standing


@dataclass(frozen=True)
class Loaded:
    """One node in one acceptance run. seconds: under load; counts: whether nothing but hours stood in the way of its certificate;
    fault: what the run found of the node, if that was worse than a warning; limits: the hash of what it was judged by."""

    run: str
    started: str
    began: Standing
    ended: Standing
    seconds: float
    counts: bool = True
    fault: str = ""
    limits: str = ""


@dataclass
class Clock:
    """``take`` runs from the newest to the oldest. seconds: counted; since: when the oldest run began that counts; restarted: why the
    clock began anew then, empty when nothing is known before; runs: (id, seconds, hash of its limits) of those that count."""

    seconds: float = 0.0
    since: str = ""
    restarted: str = ""
    runs: list[tuple[str, float, str]] = field(default_factory=list)
    open: bool = True
    _later: Standing | None = None

    def take(self, one: Loaded) -> None:
        """One more run, of before all that were taken."""
        why = restart(one.ended, self._later) if self._later else ""
        if self._later and one.fault:
            self.stop(f"run {one.run} found: {one.fault}")
        elif why:
            self.stop(f"between run {one.run} and the next: {why}")
        elif broken := restart(one.began, one.ended):
            self.stop(f"during run {one.run}: {broken}")
        else:
            self._add(one)

    def _add(self, one: Loaded) -> None:
        if one.counts:
            self.seconds, self.since = self.seconds + one.seconds, one.started
            self.runs.append((one.run, one.seconds, one.limits))
        self._later = self._later.knowing(one.began) if self._later else one.began

    def stop(self, why: str) -> None:
        """It began anew here, if it still runs."""
        if self.open:
            self.restarted, self.open = why, False

    @property
    def hours(self) -> float:
        """What counts."""
        return round(self.seconds / 3600, 4)


@dataclass(frozen=True)
class Accepted:
    """A node's clock beside what is asked of it. required: hours, None where nobody asks for any; source: who does; left_out: loads that
    the inventory leaves out."""

    clock: Clock
    required: float | None = None
    source: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def obstacles(self) -> list[str]:
        """Why there is no certificate yet, but for what the hours say."""
        return [f"the inventory leaves out {', '.join(self.left_out)}, and acceptance runs every load"] if self.left_out else []

    @property
    def hours_lacking(self) -> list[str]:
        """Why the hours do not suffice; empty when they do."""
        if self.required is None or self.clock.hours >= self.required:
            return []
        again = f"; the clock began anew: {self.clock.restarted}" if self.clock.restarted else ""
        return [f"{self.clock.hours:.4g} of {self.required:g} hours under load{again}"]

    def told(self, counts: bool) -> dict[str, object]:
        """As verdicts.json has it. counts: whether this run counts for a later one."""
        return {"loaded_hours": self.clock.hours, "required_hours": self.required, "required_by": self.source, "since": self.clock.since,
                "restarted": self.clock.restarted, "counts": counts, "left_out": list(self.left_out),
                "runs": [{"run": run, "hours": round(seconds / 3600, 4), "limits": limits} for run, seconds, limits in self.clock.runs]}


def other_limits(told: Mapping[str, object], limits: str) -> list[str]:
    """Runs among those that count which were judged by other limits than these."""
    runs: Iterable[object] = told.get("runs", ()) if isinstance(told.get("runs"), list) else ()  # type: ignore[assignment]
    return [str(run["run"]) for run in runs if isinstance(run, Mapping) and run.get("limits") != limits]
