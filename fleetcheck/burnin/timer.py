"""One thread that does many things at their time. What it does must not wait: it hands work to a pool. Runs on the controller."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Timer:
    """``after(seconds, action)``; nothing happens once it is closed. Actions run on its thread, or not at all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, pace: float = 1.0) -> None:
        """clock: seconds; pace: how many of them pass in a second, for trials faster than life."""
        self.clock, self.pace = clock, pace
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="loads", daemon=True)
        self._thread.start()

    def now(self) -> float:
        """Seconds of its clock."""
        return self.clock() * self.pace

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Do it that many seconds from now."""
        with self._changed:
            heapq.heappush(self._due, (self.now() + max(0.0, seconds), next(self._numbers), action))
            self._changed.notify()

    def _run(self) -> None:
        while action := self._next():
            action()

    def _next(self) -> Callable[[], None] | None:
        """The next action when it is due; None once closed."""
        with self._changed:
            while not self._closed:
                wait = (self._due[0][0] - self.now()) / self.pace if self._due else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(wait)
        return None

    def close(self) -> None:
        """Drop what is not due, and end the thread."""
        with self._changed:
            self._closed = True
            self._due.clear()
            self._changed.notify()
        if self._thread is not threading.current_thread():
            self._thread.join()
