"""Trials as lines of a run's evidence, and read back from them. Runs on the controller."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck.collective.campaign.ran import Ran
from fleetcheck.collective.rounds import Planned
from fleetcheck.collective.trial import Trial, as_record, from_record
from fleetcheck.records import Answer, Evidence
from fleetcheck.run import RunError

STAGE = "pairs"
TRIAL, CAMPAIGN = "trial", "campaign"
_HEAD = re.compile(rb'^\{"run":"[^"\\]*","stage":"pairs","probe":"(trial [^"\\]*|campaign)","node":""')


@dataclass(frozen=True)
class Kept:
    """A recorded trial. step: one of course.STEPS; trial: None where it could not be run, not_run says why then; lost: for whose sake;
    told: by member, what else it said.
    """

    name: str
    round: int
    step: str
    members: tuple[str, ...]
    why: str = ""
    trial: Trial | None = None
    not_run: str = ""
    lost: Mapping[str, str] = field(default_factory=dict)
    told: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    seconds: float = 0.0


@dataclass(frozen=True)
class Campaign:
    """What was settled when a campaign began. mode: quick or full; entered: nodes by what they are tried with (one list a profile);
    left_out: why the others were not; ended: why it ended before all was tried.
    """

    mode: str = ""
    entered: tuple[tuple[str, ...], ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    ended: str = ""


@dataclass(frozen=True)
class Recorded:
    """All that a run's evidence tells of its campaign; None: it had none."""

    campaign: Campaign | None = None
    kept: tuple[Kept, ...] = ()

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Those that were run."""
        return tuple(each.trial for each in self.kept if each.trial)


def trial_line(run: str, step: str, number: int, name: str, planned: Planned, ran: Ran, started: str, seconds: float) -> Evidence:
    """The evidence of one trial: it belongs to no single node."""
    data = {"round": number, "step": step, "members": list(planned.members), "why": planned.why,
            "trial": as_record(ran.trial) if ran.trial else None, "not_run": ran.why, "lost": dict(ran.lost), "told": dict(ran.told)}
    return Evidence(run, STAGE, f"{TRIAL} {name}", "", started, round(seconds, 3), answers={TRIAL: Answer(ok=True, data=data)})


def campaign_line(run: str, campaign: Campaign, started: str, seconds: float = 0.0) -> Evidence:
    """The evidence of what was settled; the last one of a run counts."""
    data = {"mode": campaign.mode, "entered": [list(each) for each in campaign.entered], "left_out": dict(campaign.left_out),
            "ended": campaign.ended}
    return Evidence(run, STAGE, CAMPAIGN, "", started, round(seconds, 3), answers={CAMPAIGN: Answer(ok=True, data=data)})


def recorded(path: Path) -> Recorded:
    """What this evidence tells. Raises RunError naming a damaged line."""
    campaign: Campaign | None = None
    kept: dict[str, Kept] = {}
    for number, probe, line in _lines(path):
        try:
            answers = json.loads(line)["answers"]
            if probe == CAMPAIGN:
                campaign = _campaign(answers[CAMPAIGN]["data"])
            else:
                name = probe.removeprefix(f"{TRIAL} ")
                kept[name] = _kept(name, answers[TRIAL]["data"], json.loads(line).get("seconds", 0.0))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"{path}:{number}: damaged line ({error}); remove it and resume the run") from error
    return Recorded(campaign, tuple(kept.values()))


def _lines(path: Path) -> Iterator[tuple[int, str, bytes]]:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            head = _HEAD.match(line)
            if head and line.endswith(b"\n"):
                yield number, head[1].decode(), line


def _campaign(data: Mapping[str, Any]) -> Campaign:
    return Campaign(str(data["mode"]), tuple(tuple(map(str, each)) for each in data["entered"]),
                    {str(node): str(why) for node, why in data["left_out"].items()}, str(data.get("ended", "")))


def _kept(name: str, data: Mapping[str, Any], seconds: float) -> Kept:
    return Kept(name, int(data["round"]), str(data["step"]), tuple(map(str, data["members"])), str(data.get("why", "")),
                from_record(data["trial"]) if data.get("trial") else None, str(data.get("not_run", "")), dict(data.get("lost") or {}),
                dict(data.get("told") or {}), float(seconds))
