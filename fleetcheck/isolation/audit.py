"""The log of every act: a line before it, one after it, one for each refusal. Only ever appended to. Runs on the controller."""

from __future__ import annotations

import datetime
import fcntl
import getpass
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from fleetcheck.run import RunError, disk

NAME = "isolation.jsonl"
CONFIRMED = "confirmed"


class Audit:
    """The log beside the runs, locked while it is open: one who acts at a time. Raises RunError, also when another one is at it."""

    def __init__(self, reports: Path, **about: str) -> None:
        self.path = reports / NAME
        self._about = about
        with disk(self.path):
            self._handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._handle)
            raise RunError(f"{self.path}: another fleetcheck isolate or release is at work; wait for it") from None
        self._end_line()

    def _end_line(self) -> None:
        """Half a line that a killed writer left stays, and stands alone."""
        size = os.fstat(self._handle).st_size
        if size and os.pread(self._handle, 1, size - 1) != b"\n":
            self._write(b"\n")

    def add(self, node: str, kind: str, step: str, **more: Any) -> None:
        """One line, on the disk before anything else happens. Raises RunError."""
        line = {"at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"), **_who(), **self._about,
                "node": node, "kind": kind, "step": step, **more}
        self._write(json.dumps(line, ensure_ascii=True).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        with disk(self.path):
            if os.write(self._handle, line) != len(line):
                raise OSError(28, "only part of a line could be written", str(self.path))
            os.fsync(self._handle)

    def __enter__(self) -> Audit:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._handle)


def reasons(reports: Path, backend: str) -> dict[str, str]:
    """By node, the reason that stood there when we last confirmed an isolation with this backend, unless we have released it since."""
    found: dict[str, str] = {}
    for line in _lines(reports / NAME):
        if line.get("backend") == backend and line.get("step") == CONFIRMED:
            found[str(line.get("node"))] = str(line.get("reason", "")) if line.get("kind") == "isolate" else ""
    return {node: reason for node, reason in found.items() if reason}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """Its lines; one that is damaged tells nothing."""
    if not path.exists():
        return
    with path.open("rb") as stream:
        for line in stream:
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                yield found


def _who() -> dict[str, Any]:
    """Who acts. By sudo, who really does."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = ""
    sudo = {"sudo_user": os.environ["SUDO_USER"]} if os.environ.get("SUDO_USER") else {}
    return {"user": user, "uid": os.getuid(), **sudo, "host": socket.gethostname(), "pid": os.getpid()}
