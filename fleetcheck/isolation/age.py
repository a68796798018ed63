"""When a run's evidence was gathered, by node and probe; a replay has the times of the run it replays. Runs on the controller."""

from __future__ import annotations

import datetime
import io
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetcheck.run import Run, RunError

_NODE = re.compile(rb'\{"run":"[^"\\]*","stage":"[^"\\]*","(?:probe|check)":"[^"\\]*","node":"([^"\\]*)"')
Time = datetime.datetime


@dataclass(frozen=True)
class Span:
    """A probe of a node: when it was asked, and when it had answered."""

    began: Time
    ended: Time


Spans = Mapping[str, Mapping[str, Span]]
"""By node, then probe."""


def spans(run: Run, nodes: Collection[str]) -> dict[str, dict[str, Span]]:
    """When these nodes answered; the last answer of a probe counts, a probe without one does not. Raises RunError."""
    found: dict[str, dict[str, Span]] = {}
    for line in _lines(run.evidence, nodes):
        probes = found.setdefault(line["node"], {})
        probes.pop(line["probe"], None)
        if not line["failure"]:
            began = _time(run.evidence, line["started"])
            probes[line["probe"]] = Span(began, began + datetime.timedelta(seconds=float(line["seconds"])))
    return found


def probes_of(run: Run, nodes: Collection[str]) -> dict[tuple[str, str], tuple[str, ...]]:
    """By (node, check), the probes it was planned to read. Raises RunError."""
    return {(line["node"], line["check"]): tuple(line["probes"]) for line in _lines(run.plan, nodes)}


def _lines(path: Path, nodes: Collection[str]) -> Iterator[dict[str, Any]]:
    """The lines about these nodes; the others, of a big fleet gigabytes, are not parsed."""
    wanted = {node.encode() for node in nodes}
    with path.open("rb") if path.exists() else io.BytesIO() as stream:
        for number, line in enumerate(stream, 1):
            head = _NODE.match(line)
            if line.endswith(b"\n") and (not head or head[1] in wanted):
                parsed = _parsed(path, number, line)
                if parsed.get("node") in nodes:
                    yield parsed


def _parsed(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(line)
        found.get("node")
    except (ValueError, AttributeError) as error:
        raise RunError(f"{path}:{number}: damaged line ({error}); start a new run") from None
    return found


def _time(path: Path, text: object) -> Time:
    try:
        found = datetime.datetime.fromisoformat(str(text))
    except ValueError:
        raise RunError(f"{path}: {text!r:.60} is no time; start a new run") from None
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)


def measured_at(spans: Mapping[str, Span], probes: Iterable[str]) -> Time | None:
    """When a finding was measured: the oldest of what it read; all of the node's evidence where that is not known.

    None: no such evidence is left.
    """
    read = [spans[probe] for probe in probes if probe in spans] or list(spans.values())
    return min((each.ended for each in read), default=None)
