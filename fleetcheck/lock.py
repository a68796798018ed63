"""One run of a fleet at a time in a reports folder. The kernel gives the lock back however its holder ends. Runs on the controller."""

from __future__ import annotations

import datetime
import fcntl
import json
import os
import re
import socket
from pathlib import Path
from typing import Any, BinaryIO

from fleetcheck.run import RunError, disk


class FleetLock:
    """Taken when made; ``release`` gives it back. Raises RunError naming who holds it."""

    def __init__(self, reports: Path, fleet: str) -> None:
        self.path = reports / f".lock-{re.sub(r'[^A-Za-z0-9._-]', '_', fleet)}"
        self.fleet = fleet
        with disk(self.path):
            reports.mkdir(parents=True, exist_ok=True)
            self._stream: BinaryIO = self._taken()
        self.name("")

    def _taken(self) -> BinaryIO:
        """The locked file, and the one that stands there: its last holder removes it."""
        while True:
            stream = self.path.open("a+b", buffering=0)
            try:
                fcntl.lockf(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RunError(self._refusal(stream)) from None
            if self.path.exists() and os.path.samestat(self.path.stat(), os.fstat(stream.fileno())):
                return stream
            stream.close()

    def _refusal(self, stream: BinaryIO) -> str:
        holder = _holder(stream)
        stream.close()
        who = f"pid {holder.get('pid', '?')} on {holder.get('host', '?')}, since {holder.get('since', '?')}"
        run = f", run {holder['run']}" if holder.get("run") else ""
        return (f"another run of fleet {self.fleet} is at work in {self.path.parent}: {who}{run}; wait for it, end it, or choose another "
                "place with --reports DIR")

    def name(self, run: str) -> None:
        """Say which run holds it."""
        about = {"pid": os.getpid(), "host": socket.gethostname(), "run": run,
                 "since": datetime.datetime.now().astimezone().isoformat(timespec="seconds")}
        with disk(self.path):
            self._stream.truncate(0)
            self._stream.write(json.dumps(about).encode())

    def release(self) -> None:
        """Give it back; safe to call twice."""
        if not self._stream.closed:
            self.path.unlink(missing_ok=True)
            self._stream.close()


def _holder(stream: BinaryIO) -> dict[str, Any]:
    """What the holder says of itself; nothing while it is only beginning to."""
    stream.seek(0)
    try:
        said = json.loads(stream.read(4096))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}
