"""All shards of a fleet on this machine, some at once, then joined: what ``fleetcheck shards`` does. Runs on the controller."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from fleetcheck.exitcode import INTERRUPTED
from fleetcheck.shards import Shard

POLL_SECONDS = 0.2
SHOWN_BYTES = 4000
BROKEN = frozenset({2, 3, 4})
"""Exit codes after which there is nothing to join: interrupted, internal, usage."""


class ShardRuns:
    """``pytest WORDS --shard I/N`` for every I, at most ``at_once`` at a time. A shard that cannot be judged ends the rest."""

    def __init__(self, of: int, at_once: int, words: Sequence[str], out: TextIO) -> None:
        self.of, self.at_once, self.words, self.out = of, at_once, tuple(words), out
        self.waiting = deque(range(1, of + 1))
        self.running: dict[int, subprocess.Popen[bytes]] = {}

    def go(self) -> int:
        """The exit code of the joined run, or of the first shard that broke."""
        with tempfile.TemporaryDirectory(prefix="fleetcheck-shards-") as folder:
            try:
                broken = self._all(Path(folder))
            except KeyboardInterrupt:
                print("interrupted: shards at work were ended; go on with one by --shard I/N --resume latest", file=self.out, flush=True)
                return INTERRUPTED
            finally:
                self._end()
        if broken:
            return broken
        return subprocess.run(self._command("--merge", str(self.of)), check=False).returncode

    def _command(self, *more: str) -> list[str]:
        return [sys.executable, "-m", "pytest", *self.words, *more]

    def _all(self, folder: Path) -> int:
        while self.waiting or self.running:
            while self.waiting and len(self.running) < self.at_once:
                self._start(self.waiting.popleft(), folder)
            for number in [number for number, process in self.running.items() if process.poll() is not None]:
                status = self.running.pop(number).returncode
                print(f"shard {number}/{self.of} ended with exit code {status}", file=self.out, flush=True)
                if status in BROKEN or status < 0:
                    print(_tail(folder / str(number)), file=self.out, flush=True)
                    return INTERRUPTED if status < 0 else status
            time.sleep(POLL_SECONDS)
        return 0

    def _start(self, number: int, folder: Path) -> None:
        with (folder / str(number)).open("wb") as output:
            self.running[number] = subprocess.Popen(
                self._command("--shard", str(Shard(number, self.of)), "--no-html", "-p", "no:cacheprovider"),
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)

    def _end(self) -> None:
        """As Ctrl-C would: each ends its loads and connections, and is waited for."""
        for process in self.running.values():
            process.send_signal(signal.SIGINT)
        for process in self.running.values():
            process.wait()


def _tail(path: Path) -> str:
    """The end of what a shard printed."""
    return path.read_bytes()[-SHOWN_BYTES:].decode("utf-8", "replace").strip()
