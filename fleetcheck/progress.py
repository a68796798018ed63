"""How far a run is: nodes done, nodes with findings, time to go. Runs on the controller."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

LOG_SECONDS = 60.0


class Progress:
    """Counts finished items per node; shows one live line on a terminal and logs one line a minute."""

    def __init__(self, planned: dict[str, int], log: Path, screen: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        self.left = dict(planned)
        self.total = len(planned)
        self.items = sum(planned.values())
        self.finished = 0
        self.failing: set[str] = set()
        self.clock = clock
        self.began = self.logged = clock()
        self.log = log
        self.screen = screen
        self.drawn = 0.0
        self.loads: Callable[[], str] = lambda: ""

    def item(self, node: str, outcome: str) -> None:
        """One item of a node ended."""
        self.finished += 1
        if node in self.left:
            self.left[node] -= 1
            if not self.left[node]:
                del self.left[node]
        if outcome in ("failed", "error"):
            self.failing.add(node)
        self.tick()

    def line(self) -> str:
        """Such as ``12/64 nodes done, 3 with findings, about 00:40 to go``; while nodes are loaded, how far those are."""
        loads = self.loads()
        if loads:
            return f"{self.total - len(self.left)}/{self.total} nodes done, {len(self.failing)} with findings; {loads}"
        spent = self.clock() - self.began
        rest = spent / self.finished * (self.items - self.finished) if self.finished else 0.0
        minutes, seconds = divmod(int(rest), 60)
        return (f"{self.total - len(self.left)}/{self.total} nodes done, {len(self.failing)} with findings, "
                f"about {minutes:02d}:{seconds:02d} to go")

    def tick(self) -> None:
        """Draw and log when it is time; called between items and while waiting for a node."""
        now = self.clock()
        if self.screen is not None and now - self.drawn >= 0.2:
            self.drawn = now
            self.screen.write(f"\r\x1b[K{self.line()}")
            self.screen.flush()
        if now - self.logged >= LOG_SECONDS:
            self.note()

    def note(self) -> None:
        """Write a line to the log; a full disk is found by the journals, which matter more."""
        self.logged = self.clock()
        try:
            with self.log.open("a", encoding="utf-8") as stream:
                stream.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {self.line()}\n")
        except OSError:
            return

    def end(self) -> None:
        """The last line of the log; the live line disappears."""
        if self.screen is not None:
            self.screen.write("\r\x1b[K")
            self.screen.flush()
        self.note()
