"""From what a check did to its Result: outcome, message, part, measured values and limit. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.recording import Comparison, Offender, Recording
from fleetcheck.records import ACTIONS, SEVERITIES, Planned, Result
from fleetcheck.text import clean

MESSAGE_CHARACTERS = 2000
NAMED_OFFENDERS = 8
METRICS = 400


@dataclass(frozen=True)
class Said:
    """The end of one phase of an item: outcome, and the exception that made it so."""

    outcome: str
    error: BaseException | None = None


def said(when: str, error: BaseException | None) -> Said:
    """Only an AssertionError or pytest.fail in a test body is a failure; every other exception means not measured.

    >>> said("setup", AssertionError()).outcome, said("call", AssertionError()).outcome, said("call", KeyError()).outcome
    ('error', 'failed', 'error')
    """
    if error is None:
        return Said("passed")
    if isinstance(error, pytest.skip.Exception):
        return Said("skipped", error)
    if when == "call" and isinstance(error, (AssertionError, pytest.fail.Exception)):
        return Said("failed", error)
    return Said("error", error)


def worse(earlier: Said, later: Said) -> Said:
    """The outcome of an item from its phases: a failure found stands, a broken teardown spoils a pass."""
    order = ("passed", "skipped", "error", "failed")
    return later if order.index(later.outcome) > order.index(earlier.outcome) else earlier


def result(planned: Planned, end: Said, recording: Recording, seconds: float, boot_id: str = "",
           description: str = "") -> Result:
    """The Result of one item."""
    blamed = recording.offenders if end.outcome == "failed" else []
    severity, action = graded(planned, blamed)
    decisive = _decisive(recording)
    parts = _parts(blamed, decisive if end.outcome == "failed" else None) or _unmeasured(end)
    return Result(
        run=planned.run, stage=planned.stage, check=planned.check, component=planned.component, node=planned.node,
        outcome=end.outcome, severity=severity, action=action, message=message(end, recording), nodeid=planned.nodeid,
        parts=parts, metrics=metrics(recording),
        bound=_bound(decisive), source=f"{decisive.bound.source} ({decisive.bound.date})" if decisive else "",
        coverage="; ".join(dict.fromkeys(recording.coverage)), boot_id=boot_id, seconds=round(seconds, 6),
        nodes=_nodes(planned, end, parts, blamed),
        description=description, causes=tuple(dict.fromkeys(each.cause for each in blamed if each.cause)),
    )


def _nodes(planned: Planned, end: Said, parts: Sequence[Mapping[str, str]], blamed: Sequence[Offender]) -> tuple[str, ...]:
    """Whom a result of several nodes is about: those at fault, those that its findings name, else all."""
    culprits = [part["label"] for part in parts if part["kind"] == "node"] if end.outcome == "failed" else []
    named = [node for each in blamed for node in each.nodes]
    return tuple(dict.fromkeys(culprits or named)) or planned.nodes


def _unmeasured(end: Said) -> tuple[Mapping[str, str], ...]:
    """The nodes for whose sake nothing was measured between several."""
    error = end.error if end.outcome == "error" else None
    return tuple({"kind": "node", "label": node, "slot": "", "serial": ""} for node in getattr(error, "nodes", ()))


def graded(planned: Planned, offenders: Sequence[Offender]) -> tuple[str, str]:
    """Severity and action of a finding: what the site says, else the worst of its offenders' own, else the check's."""
    severity, action = planned.policy.get("severity"), planned.policy.get("action")
    grades = [(severity or offender.severity or planned.severity, action or offender.action or planned.action)
              for offender in offenders]
    worst = max(grades, key=lambda grade: (SEVERITIES.index(grade[0]), ACTIONS.index(grade[1])), default=None)
    return worst or (planned.severity, planned.action)


def message(end: Said, recording: Recording) -> str:
    """What an operator reads: the offenders, or the value that left its limit, or the check's own words."""
    if end.error is None:
        return ""
    if end.outcome == "failed":
        return clean(_failure(end.error, recording), MESSAGE_CHARACTERS)
    if isinstance(end.error, (NotMeasured, pytest.skip.Exception, pytest.fail.Exception)):
        return clean(str(end.error), MESSAGE_CHARACTERS)
    return clean(f"the check could not be evaluated: {type(end.error).__name__}: {end.error}", MESSAGE_CHARACTERS)


def _failure(error: BaseException, recording: Recording) -> str:
    own = str(error).partition("\n")[0]
    explicit = own and not own.startswith("assert ")
    if recording.offenders and not explicit:
        named = [offender.text for offender in recording.offenders[:NAMED_OFFENDERS]]
        more = len(recording.offenders) - len(named)
        return "; ".join(named) + (f"; and {more} more" if more > 0 else "")
    broken = next((each for each in reversed(recording.comparisons) if not each.within), None)
    if broken is not None and not explicit:
        return f"{broken.read.name if broken.read else 'value'} {broken.value} (limit {broken.bound})"
    return own or type(error).__name__


def _decisive(recording: Recording) -> Comparison | None:
    """The comparison a result reports: the first that failed, else the last."""
    broken = next((each for each in recording.comparisons if not each.within), None)
    return broken or (recording.comparisons[-1] if recording.comparisons else None)


def _parts(offenders: Sequence[Offender], decisive: Comparison | None) -> tuple[Mapping[str, str], ...]:
    parts = [offender.part for offender in offenders if offender.part]
    if not parts and decisive and decisive.read and decisive.read.part:
        parts = [decisive.read.part]
    return tuple(asdict(part) for part in dict.fromkeys(parts))


def _bound(decisive: Comparison | None) -> Mapping[str, Any] | None:
    if decisive is None:
        return None
    bound = decisive.bound
    if isinstance(bound, Bound):
        return {"low": bound.low, "high": bound.high, "unit": bound.unit}
    return {"allowed": list(bound.allowed)}


def metrics(recording: Recording) -> dict[str, Any]:
    """Every scalar read, by name; {part label: value} where several parts were read."""
    found: dict[str, Any] = {}
    for read in recording.reads[:METRICS]:
        if isinstance(read.value, (bool, int, float, str)):
            value = clean(read.value, 80) if isinstance(read.value, str) else _finite(read.value)
            if read.part is None:
                found[read.name] = value
            elif isinstance(found.setdefault(read.name, {}), dict):
                found[read.name][read.part.label] = value
    return found


def _finite(value: float) -> float | str:
    """A number as JSON can hold it: an unlimited limit (``inf``) in words."""
    return value if math.isfinite(value) else str(value)


def unmeasured(recording: Recording) -> list[str]:
    """Reasons of the reads that found nothing."""
    return [read.value.reason for read in recording.reads if isinstance(read.value, Absent)]


def overridden(planned: Planned, severity: str | None, action: str | None) -> Planned:
    """A planned item with a site's own severity or action."""
    return replace(planned, severity=severity or planned.severity, action=action or planned.action)
