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
from fleetcheck.records import Answer, Evidence, Failure
from fleetcheck.run import RunError

STAGE = "pairs"
TRIAL, CAMPAIGN, ENTRY = "trial", "campaign", "entry"
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
class Begun:
    """Where a campaign stands. mode: quick or full; kinds: nodes that are tried with each other, by profile; left_out: the others, with
    kind and message of why; claims: held now, by node; over: nothing is left to be tried; ended: why it ended before that.
    """

    mode: str = ""
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: Mapping[str, Failure] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    over: bool = False
    ended: str = ""


@dataclass(frozen=True)
class Recorded:
    """All that a run's evidence tells of its campaign; None: it had none."""

    begun: Begun | None = None
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


def campaign_line(run: str, begun: Begun, started: str) -> Evidence:
    """The evidence of where a campaign stands; the last one of a run counts."""
    data = {"mode": begun.mode, "kinds": {name: list(kind) for name, kind in begun.kinds.items()},
            "left_out": {node: [why.kind, why.message] for node, why in begun.left_out.items()},
            "claims": dict(begun.claims), "over": begun.over, "ended": begun.ended}
    return Evidence(run, STAGE, CAMPAIGN, "", started, 0.0, answers={CAMPAIGN: Answer(ok=True, data=data)})


def node_line(run: str, node: str, started: str, failure: Failure | None, alone: bool = False) -> Evidence:
    """The evidence of one node: whether it was tried with others. alone: there is none of its kind."""
    answers = {} if failure else {ENTRY: Answer(ok=True, data={"entered": not alone})}
    return Evidence(run, STAGE, STAGE, node, started, 0.0, failure=failure, answers=answers)


def recorded(path: Path) -> Recorded:
    """What this evidence tells. Raises RunError naming a damaged line."""
    begun: Begun | None = None
    kept: dict[str, Kept] = {}
    for number, probe, line in _lines(path):
        try:
            answers = json.loads(line)["answers"]
            if probe == CAMPAIGN:
                begun = _begun(answers[CAMPAIGN]["data"])
            else:
                name = probe.removeprefix(f"{TRIAL} ")
                kept[name] = _kept(name, answers[TRIAL]["data"], json.loads(line).get("seconds", 0.0))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunError(f"{path}:{number}: damaged line ({error}); remove it and resume the run") from error
    return Recorded(begun, tuple(kept.values()))


def _lines(path: Path) -> Iterator[tuple[int, str, bytes]]:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            head = _HEAD.match(line)
            if head and line.endswith(b"\n"):
                yield number, head[1].decode(), line


def _begun(data: Mapping[str, Any]) -> Begun:
    return Begun(str(data["mode"]), {str(name): tuple(map(str, kind)) for name, kind in data["kinds"].items()},
                 {str(node): Failure(str(why[0]), str(why[1])) for node, why in data["left_out"].items()},
                 {str(node): str(held) for node, held in data["claims"].items()}, data["over"] is True, str(data["ended"]))


def _kept(name: str, data: Mapping[str, Any], seconds: float) -> Kept:
    return Kept(name, int(data["round"]), str(data["step"]), tuple(map(str, data["members"])), str(data.get("why", "")),
                from_record(data["trial"]) if data.get("trial") else None, str(data.get("not_run", "")), dict(data.get("lost") or {}),
                dict(data.get("told") or {}), float(seconds))
