"""Appending records to a run's JSON-lines files from several threads. Runs on the controller."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from fleetcheck import records
from fleetcheck.run import RunError


class Journal:
    """An append-only JSON-lines file. Each record is one write, so that a killed run leaves whole lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stream = path.open("ab", buffering=0)

    def append(self, record: Any) -> int:
        """Write one record; its offset in the file. Raises RunError when the disk refuses it."""
        line = json.dumps(records.as_line(record), separators=(",", ":"), allow_nan=False).encode() + b"\n"
        with self._lock:
            offset = self._stream.tell()
            self._write(line, offset)
        return offset

    def _write(self, line: bytes, offset: int) -> None:
        try:
            written = self._stream.write(line)
            if written != len(line):
                raise OSError(28, "No space left on device")
        except OSError as error:
            self._stream.truncate(offset)
            raise RunError(f"cannot write {self.path}: {error.strerror}; free some space, then --resume {self.path.parent.name}") from error

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
