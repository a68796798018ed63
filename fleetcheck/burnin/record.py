"""One node's load as a run's loads.jsonl tells it: where it stands, and all of its polls as one piece of evidence."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck.burnin.book import CLOSED, Line, heads, rest_at, telemetry_at
from fleetcheck.burnin.schedule import ABOUT
from fleetcheck.journal import as_text
from fleetcheck.records import Answer, Evidence, as_line

OF_A_LINE = ("windows", "events", "windows_bytes", "events_bytes", "ref")
"""What a line says of itself alone."""


@dataclass
class Kept:
    """windows, events: how many of each were fetched; polls: where their lines begin; results: their text by load, as last told."""

    state: str = ""
    began: str = ""
    boot_id: str = ""
    windows: int = 0
    events: int = 0
    polls: list[int] = field(default_factory=list)
    results: dict[str, int] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    claim: str = ""

    @property
    def begun(self) -> bool:
        """Whether the node may have a load of this run, running or not yet cleaned up."""
        return bool(self.state) and self.state not in ("ended", "deferred", "unloaded", "claimed")

    def fresh(self, results: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        """The results that were not told like this before."""
        prints = {name: hash(json.dumps(result, sort_keys=True, default=str)) for name, result in results.items()}
        new = {name: result for name, result in results.items() if self.results.get(name) != prints[name]}
        self.results.update(prints)
        return new

    def take(self, offset: int, line: Line) -> None:
        """One more line of the book."""
        about = line.about
        if line.what == "silent":
            return
        if line.what == "starting":
            self._begin(line)
        if line.what == "polled":
            self.polls.append(offset)
            self.windows += int(about.get("windows", 0))
            self.events += int(about.get("events", 0))
        if line.what == "claimed":
            self.claim = str(about.get("ref", ""))
        if line.what in CLOSED:
            self.claim = ""
        self.state = line.what
        self.boot_id = self.boot_id or str(about.get("boot_id", ""))
        self.about.update({name: value for name, value in about.items() if name not in OF_A_LINE})

    def _begin(self, line: Line) -> None:
        """What an earlier attempt left counts no more."""
        self.began, self.boot_id, self.windows, self.events = line.time, "", 0, 0
        self.polls, self.results, self.about = [], {}, {}


def recalled(path: Path) -> dict[str, Kept]:
    """By node, where its load stands. Raises RunError on a damaged file."""
    found: dict[str, Kept] = {}
    for offset, _, line in heads(path) if path.exists() else ():
        if line.node:
            found.setdefault(line.node, Kept()).take(offset, line)
    return found


def answers(path: Path, kept: Kept, wanted: Collection[str], missing: str) -> dict[str, Answer]:
    """A load's answers but for its telemetry, joined from its polls. missing: why a load has no result. Raises RunError."""
    results: dict[str, Any] = {}
    snapshots: dict[str, Any] = {}
    for told in (rest_at(path, offset) for offset in kept.polls):
        results.update(told.get("results", {}))
        snapshots.update(told.get("snapshots", {}))
    loads = {name: _result(name, results, missing) for name in sorted({*wanted, *results} - set(ABOUT))}
    return {**loads, "snapshots": Answer(ok=True, data=snapshots) if snapshots else Answer(ok=False, error=missing),
            "load": Answer(ok=True, data=dict(kept.about))}


def evidence_text(path: Path, kept: Kept, evidence: Evidence, missing: str) -> bytes:
    """The line of a load's evidence with its telemetry, which is put in as it lies on disk: a night's windows are not taken apart."""
    return as_text(evidence).removesuffix(b"}}") + b',"telemetry":' + _telemetry(path, kept, missing) + b"}}"


def _telemetry(path: Path, kept: Kept, missing: str) -> bytes:
    """The answer ``telemetry`` as text."""
    if not kept.polls:
        return json.dumps(as_line(Answer(ok=False, error=missing))).encode()
    parts = [telemetry_at(path, offset) for offset in kept.polls]
    windows, events = (b",".join(filter(None, (part[place] for part in parts))) for place in (0, 1))
    boot = json.dumps(kept.boot_id).encode()
    return (b'{"ok":true,"seconds":0.0,"error":"","data":{"windows":[' + windows + b'],"events":[' + events + b'],"boot_id":' + boot
            + b'},"metrics":{},"coverage":""}')


def _result(name: str, results: Mapping[str, Any], missing: str) -> Answer:
    """Also a load that broke has told something: its check judges it."""
    if name not in results:
        return Answer(ok=False, error=missing)
    told = results[name]
    seconds, coverage = told.get("seconds"), told.get("coverage")
    return Answer(ok=True, seconds=float(seconds) if isinstance(seconds, (int, float)) else 0.0, data=told,
                  coverage=coverage if isinstance(coverage, str) else "")
