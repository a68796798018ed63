"""The lines of plan.jsonl, evidence.jsonl and results.jsonl: what each stage leaves for the next."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from sys import intern
from typing import Any

OUTCOMES = ("passed", "failed", "error", "skipped")
SEVERITIES = ("warn", "degraded", "fatal")
ACTIONS = ("none", "observe", "fix-config", "restart-service", "reset-gpu", "reboot", "isolate", "replace")
TIERS = ("quick", "full", "burnin", "acceptance")
ISOLATING = frozenset({"reset-gpu", "reboot", "isolate", "replace"})
UNREACHABLE = frozenset({
    "refused", "no-route", "connect-timeout", "no-banner", "name-resolution", "authentication",
    "host-key-unknown", "host-key-changed", "jump",
})
"""Error kinds that mean nobody could log in; every other kind means the node was reached but not measured."""

GIVEN_UP = "given up because the run was ended"
"""What a failure says when this side ended the question."""
PUT_OFF = frozenset({"deferred", "unclaimed", "claim-lost", "excluded"})
"""Error kinds that mean a node was left alone on purpose: nothing else is wrong, and nothing was measured."""
Share = tuple[str, str]
"""(node name, stage) of the checks that are judged together."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a probe brought no answer. kind: one of UNREACHABLE, or no-python, become-refused, truncated, garbled, too-large,
    deadline, disconnected, wrong-machine, node-code, controller
    (trouble on this side), deferred (a load that would have disturbed a job), unclaimed (nobody may load it), claim-lost (its
    job or reservation ended under the load), excluded, not-ready, lost (it was not tried with other nodes: a finding of its own, no
    torch like theirs, gone meanwhile).
    message: node, what was attempted, evidence quoted, what to do."""

    kind: str
    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What one collector or load returned. data: its own mapping; an unmeasured leaf is ``{"absent": reason}``."""

    ok: bool
    seconds: float = 0.0
    error: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    coverage: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One probe of one node: a line of evidence.jsonl. answers: by collector name."""

    run: str
    stage: str
    probe: str
    node: str
    started: str
    seconds: float
    attempts: int = 1
    failure: Failure | None = None
    answers: Mapping[str, Answer] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Planned:
    """One selected (check, node): a line of plan.jsonl, written before the first connection. node is '' for fleet items.

    nodes: whom an item of several nodes is about.
    policy: what the site said of it: severity, action (already in those fields), waived_until and reason of a waiver."""

    run: str
    stage: str
    check: str
    node: str
    nodeid: str
    component: str
    severity: str
    action: str
    probes: tuple[str, ...] = ()
    needs: str = "any"
    policy: Mapping[str, str] = field(default_factory=dict)
    nodes: tuple[str, ...] = ()

    @property
    def waived(self) -> str:
        """Why the check is not asked, in words; empty when it is."""
        until = self.policy.get("waived_until", "")
        return f"waived until {until}: {self.policy.get('reason', '')}" if until else ""


@dataclass(frozen=True, slots=True)
class Result:
    """One judged (check, node): a line of results.jsonl. metrics: {name: value or {part label: value}}; bound: {low, high,
    unit} or {allowed}; source: who set the limit and when; parts: the offending parts; causes: of a failure, where
    one check stands for several."""

    run: str
    stage: str
    check: str
    component: str
    node: str
    outcome: str
    severity: str
    action: str
    message: str = ""
    parts: tuple[Mapping[str, str], ...] = ()
    metrics: Mapping[str, Any] = field(default_factory=dict)
    bound: Mapping[str, Any] | None = None
    source: str = ""
    coverage: str = ""
    boot_id: str = ""
    seconds: float = 0.0
    nodeid: str = ""
    nodes: tuple[str, ...] = ()
    description: str = ""
    causes: tuple[str, ...] = ()

    @property
    def blamed(self) -> tuple[str, ...]:
        """The nodes it is about: its own, those a check of several nodes found at fault or could not measure, or the only one it names."""
        mine = self.outcome in ("failed", "error")
        culprits = tuple(part["label"] for part in self.parts if part.get("kind") == "node") if mine else ()
        return (self.node,) if self.node else culprits or (self.nodes if len(self.nodes) == 1 else ())

    def slim(self) -> Result:
        """Without what only reports on a single item need: a fleet's results must fit into memory."""
        return dataclasses.replace(self, metrics={}, bound=None, source="", coverage="", description="")


def as_line(record: Any) -> dict[str, Any]:
    """A record as the mapping that goes on its line."""
    return {name: _plain(getattr(record, name)) for name in record.__slots__}


def _plain(value: Any) -> Any:
    """A record inside a record as its mapping; anything else as it is, for copying each value costs more than writing it."""
    if isinstance(value, (Failure, Answer)):
        return as_line(value)
    if isinstance(value, dict) and isinstance(next(iter(value.values()), None), Answer):
        return {name: as_line(answer) for name, answer in value.items()}
    return value


def evidence_of(line: Mapping[str, Any]) -> Evidence:
    """Evidence from its line; raises TypeError or KeyError on a line that is none."""
    failure = Failure(**line["failure"]) if line.get("failure") else None
    answers = {name: Answer(**answer) for name, answer in line["answers"].items()}
    return Evidence(**{**line, "failure": failure, "answers": answers})


def result_of(line: Mapping[str, Any]) -> Result:
    """A Result from its line."""
    return Result(**_shared(line, ("parts", "nodes", "causes")))


def planned_of(line: Mapping[str, Any]) -> Planned:
    """A Planned from its line."""
    return Planned(**_shared(line, ("probes", "nodes")))


def _shared(line: Mapping[str, Any], lists: Sequence[str]) -> dict[str, Any]:
    """A line with its lists as tuples; the words that a fleet's lines share are one object for all of them."""
    told = {name: intern(value) if type(value) is str else value for name, value in line.items()}
    return {**told, **{name: tuple(line.get(name, ())) for name in lists}}
