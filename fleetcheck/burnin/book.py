"""loads.jsonl of a run: what is loaded where, as it happens, so that a killed run goes on and others may watch.

One line per event: node, what, time, about (short, read by everybody), told (what a poll brought). Runs on the controller.
"""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck.journal import Journal
from fleetcheck.run import RunError

NAME = "loads.jsonl"
HEAD_BYTES = 1 << 16
"""Within these lies all of a line but what a poll told."""
CLOSED = ("ended", "deferred", "failed", "unloaded", "lost")
"""What is said last of a node. failed, lost: it may still hold the load's folder; lost: with samples nobody could fetch."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. what: claimed, starting, started, polled, silent, fetched, ended, deferred, failed,
    unloaded, lost."""

    node: str
    what: str
    time: str
    about: Mapping[str, Any] = field(default_factory=dict)
    told: Mapping[str, Any] = field(default_factory=dict)


class Book:
    """The file, open for appending from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._journal = Journal(path)
        self._lock = threading.Lock()

    def write(self, node: str, what: str, about: Mapping[str, Any] | None = None, told: Mapping[str, Any] | None = None) -> int:
        """Append one line; its offset. Raises RunError when the disk refuses."""
        return self._journal.append(Line(node, what, now(), about or {}, told or {}))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()


def now() -> str:
    """The time as lines carry it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def heads(path: Path, offset: int = 0) -> Iterator[tuple[int, int, Line]]:
    """Each whole line from offset on without what a poll told: (its offset, the next one's, line). Raises RunError."""
    decoder = json.JSONDecoder()
    with path.open("rb") as stream:
        stream.seek(offset)
        for line in stream:
            if not line.endswith(b"\n"):
                return
            yield offset, offset + len(line), _head(line, decoder, path, offset)
            offset += len(line)


def _head(line: bytes, decoder: json.JSONDecoder, path: Path, offset: int) -> Line:
    try:
        text = line[:HEAD_BYTES].decode("ascii")
        cut = text.index(',"told":')
        found = decoder.decode(text[:cut] + "}")
        return Line(str(found["node"]), str(found["what"]), str(found["time"]), found["about"])
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: damaged line at byte {offset} ({error}); remove it") from error


def told_at(path: Path, offset: int) -> Mapping[str, Any]:
    """What the poll whose line begins at offset told. Raises RunError."""
    with path.open("rb") as stream:
        stream.seek(offset)
        line = stream.readline()
    try:
        told: Mapping[str, Any] = json.loads(line)["told"]
        return told
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: damaged line at byte {offset} ({error}); remove it") from error
