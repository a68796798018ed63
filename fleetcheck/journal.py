"""Appending records to a run's JSON-lines files from several threads. Runs on the controller."""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path
from typing import Any, BinaryIO

from fleetcheck import records
from fleetcheck.run import RunError, disk

TAIL_BYTES = 1 << 16


class Journal:
    """An append-only JSON-lines file. Each record is one write, so that a killed run leaves whole lines.

    Half a line that an earlier run left at the end goes before anything follows it. Raises RunError when the disk refuses.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with disk(path):
            self._stream = path.open("a+b", buffering=0)
            self._stream.truncate(_whole(self._stream))
            self._stream.seek(0, os.SEEK_END)

    def append(self, record: Any) -> int:
        """Write one record; its offset in the file. Raises RunError when the disk refuses it."""
        return self.append_text(as_text(record))

    def append_text(self, text: bytes) -> int:
        """Write a record that is JSON already, on one line; its offset in the file. Raises RunError when the disk refuses it."""
        line = text + b"\n"
        with self._lock:
            offset = self._stream.tell()
            self._write(line, offset)
        return offset

    def _write(self, line: bytes, offset: int) -> None:
        try:
            written = self._stream.write(line)
            if written != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            self._stream.truncate(offset)
            run = self.path.parent.name
            raise RunError(f"cannot write {self.path}: {error.strerror}; free some space, then --resume {run}") from error

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def as_text(record: Any) -> bytes:
    """A record as its line, without the end of line."""
    return json.dumps(records.as_line(record), separators=(",", ":"), allow_nan=False).encode()


def _whole(stream: BinaryIO) -> int:
    """Where the last whole line of a file ends."""
    end = stream.seek(0, os.SEEK_END)
    while end > 0:
        begin = max(0, end - TAIL_BYTES)
        stream.seek(begin)
        found = stream.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + found + 1
        end = begin
    return 0
