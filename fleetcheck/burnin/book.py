"""loads.jsonl of a run: what is loaded where, as it happens, so that a killed run goes on and others may watch.

One line per event: node, what, time, about (short, read by everybody), told (what a poll brought). Runs on the controller.
"""

from __future__ import annotations

import datetime
import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fleetcheck.journal import Journal, as_text
from fleetcheck.run import RunError, disk

NAME = "loads.jsonl"
TOLD, WINDOWS, EVENTS = b',"told":', b'{"windows":', b',"events":'
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

    def write_poll(self, node: str, about: Mapping[str, Any], windows: Sequence[Any], events: Sequence[Any],
                   rest: Mapping[str, Any]) -> int:
        """A poll's line; its offset. Raises RunError."""
        return self._journal.append_text(poll_text(Line(node, "polled", now(), about), _dumped(windows), _dumped(events), _dumped(rest)))

    def close(self) -> None:
        """Close the file."""
        self._journal.close()


def poll_text(line: Line, windows: bytes, events: bytes, rest: bytes) -> bytes:
    """A poll's line: its windows and events, two lists as text, with how long they are, so that they can be copied unread."""
    sizes = {"windows_bytes": len(windows), "events_bytes": len(events)}
    head = as_text(replace(line, about={**line.about, **sizes})).removesuffix(TOLD + b"{}}")
    return head + TOLD + WINDOWS + windows + EVENTS + events + (b"," if rest != b"{}" else b"") + rest[1:] + b"}"


def slim(path: Path, nodes: Collection[str]) -> None:
    """Leave out the telemetry that polls of these nodes told, all but the last poll of each: it is in the run's evidence.

    Raises RunError.
    """
    last = {line.node: offset for offset, _, line in heads(path) if line.what == "polled"}
    fresh = path.with_suffix(".slim")
    with disk(path), path.open("rb") as source, fresh.open("wb") as target:
        for offset, after, line in heads(path):
            if line.what == "polled" and line.node in nodes and last[line.node] != offset:
                target.write(poll_text(line, b"[]", b"[]", b"{" + _rest(path, offset) + b"}") + b"\n")
            else:
                source.seek(offset)
                target.write(source.read(after - offset))
        fresh.replace(path)


def _dumped(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


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
        cut = text.index(TOLD.decode())
        found = decoder.decode(text[:cut] + "}")
        return Line(str(found["node"]), str(found["what"]), str(found["time"]), found["about"])
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: damaged line at byte {offset} ({error}); remove it") from error


def _parts(path: Path, offset: int) -> tuple[bytes, bytes, bytes]:
    """The text of a poll's windows, of its events, and the rest of what it told. Raises RunError."""
    with path.open("rb") as stream:
        stream.seek(offset)
        line = stream.readline()
    try:
        about = _head(line, json.JSONDecoder(), path, offset).about
        begin = line.index(TOLD + WINDOWS) + len(TOLD + WINDOWS)
        end = begin + int(about["windows_bytes"])
        then = end + len(EVENTS)
        last = then + int(about["events_bytes"])
        if line[end:then] != EVENTS:
            raise ValueError("windows of another length")
        return line[begin:end], line[then:last], line[last:].rstrip()
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: damaged line at byte {offset} ({error}); remove it") from error


def telemetry_at(path: Path, offset: int) -> tuple[bytes, bytes]:
    """The windows and the events of the poll whose line begins at offset, as text between commas. Raises RunError."""
    windows, events, _ = _parts(path, offset)
    return windows[1:-1], events[1:-1]


def windows_at(path: Path, offset: int) -> list[Any]:
    """The windows of a poll. Raises RunError."""
    found: list[Any] = json.loads(_parts(path, offset)[0])
    return found


def rest_at(path: Path, offset: int) -> Mapping[str, Any]:
    """What else a poll told: results, snapshots. Raises RunError."""
    rest: Mapping[str, Any] = json.loads(b"{" + _rest(path, offset) + b"}")
    return rest


def _rest(path: Path, offset: int) -> bytes:
    return _parts(path, offset)[2].removeprefix(b",").removesuffix(b"}}")
