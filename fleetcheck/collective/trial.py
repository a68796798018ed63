"""One trial of a campaign: who took part, what was measured, how it ended. Runs on the controller; pure.

A trial is evidence. It says what happened, not who is to blame: that is `localise.py`'s word, from many trials.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ALONE, WITHOUT_NVLS = "alone", "alone-without-nvls"
"""Kinds of one node by itself: as jobs run there, and with NVLink SHARP off."""
KINDS = ("pair", "group", "rail", "whole", ALONE, WITHOUT_NVLS)
OUTCOMES = ("ok", "slow", "wrong-data", "crash", "timeout")
STOPPED = ("crash", "timeout")
"""Outcomes after which nothing else of the trial was measured."""


@dataclass(frozen=True, slots=True)
class Value:
    """One measured figure. sender, receiver: names of nodes where the figure is of one direction; rail: where it is of one rail."""

    metric: str
    number: float
    sender: str = ""
    receiver: str = ""
    rail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a trial tells of one member. None: not told. ended: its last words, such as ``exit 139``."""

    node: str
    arrived: bool | None = None
    wrong: bool | None = None
    slowest: bool | None = None
    ended: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """A collective over members, in one round. id is unique in the campaign.

    outcome ``ok`` says that it ended and its data were right; whether its values are slow is judged against limits and peers, later and
    again in every replay. ``slow`` is for trials that come without values.
    """

    id: str
    round: int
    kind: str
    members: tuple[str, ...]
    outcome: str
    values: tuple[Value, ...] = ()
    reports: tuple[Report, ...] = ()
    message: str = ""

    @property
    def stopped(self) -> bool:
        """Whether it ended before there was anything to measure."""
        return self.outcome in STOPPED

    @property
    def alone(self) -> bool:
        """Whether one node was by itself: that tells of its own parts, and nothing of who disturbs whom."""
        return self.kind in (ALONE, WITHOUT_NVLS)


def as_record(trial: Trial) -> dict[str, Any]:
    """The trial as JSON takes it."""
    return dataclasses.asdict(trial)


def from_record(record: Mapping[str, Any]) -> Trial:
    """A trial read back. Raises ValueError on a kind, an outcome or a field that no trial has."""
    try:
        values, reports = record.get("values", ()), record.get("reports", ())
        trial = Trial(str(record["id"]), int(record["round"]), record["kind"], tuple(record["members"]), record["outcome"],
                      tuple(Value(**each) for each in values), tuple(Report(**each) for each in reports), str(record.get("message", "")))
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a trial: {error}") from None
    if trial.kind not in KINDS or trial.outcome not in OUTCOMES or len(set(trial.members)) != len(trial.members) \
            or (len(trial.members) != 1 if trial.alone else len(trial.members) < 2):
        raise ValueError(f"not a trial: {trial.id}: kind {trial.kind!r}, outcome {trial.outcome!r}, members {trial.members}")
    return trial
