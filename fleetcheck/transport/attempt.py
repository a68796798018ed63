"""One try to ask one node: its deadlines, what it must close when they pass, and what came in so far."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fleetcheck.frame import Intake
from fleetcheck.transport.lane import Close, Lane


@dataclass(frozen=True)
class Limits:
    """Seconds for the parts of an exchange beside the request's own: TCP connect, login, and the way back."""

    connect_seconds: float = 5.0
    login_seconds: float = 15.0
    grace_seconds: float = 3.0


class Attempt:
    """Shared by the thread that asks and the watchdog that ends it. over: "", "deadline" or "closed".

    lane: where a connection may be taken from and left for the node's next probe.
    """

    def __init__(self, intake: Intake, limits: Limits, seconds: float, lane: Lane | None = None) -> None:
        self.intake = intake
        self.lane = lane
        self.limits = limits
        self.seconds = limits.login_seconds + seconds + limits.grace_seconds
        self.started = time.monotonic()
        self.over = ""
        self._closes: list[Close] = []
        self._lock = threading.Lock()

    @property
    def deadline(self) -> float:
        """When everything about it must be over."""
        return self.started + self.seconds

    def remaining(self) -> float:
        """Seconds until the deadline, 0 once it is over."""
        return 0.0 if self.over else max(0.0, self.deadline - time.monotonic())

    def login_remaining(self) -> float:
        """Seconds until the login must be done, never 0, which libraries take for "for ever"."""
        return max(0.001, min(self.remaining(), self.started + self.limits.login_seconds - time.monotonic()))

    def closing(self, close: Close) -> None:
        """Have this called when the attempt ends, at once if it has ended already."""
        with self._lock:
            self._closes.append(close)
            ended = self.over
        if ended:
            self._close_all()

    def parted_with(self) -> Sequence[Close]:
        """All that it would close, now somebody else's to close."""
        with self._lock:
            closes, self._closes = self._closes, []
        return closes

    def end(self, why: str) -> None:
        """End it: everything it waits for is closed. Any thread."""
        self.over = self.over or why
        self._close_all()

    def _close_all(self) -> None:
        for close in reversed(self.parted_with()):
            with contextlib.suppress(Exception):
                close()


class Watchdog:
    """Ends attempts at their deadlines: one thread for all of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: list[tuple[float, int]] = []
        self._open: dict[int, Attempt] = {}
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._closed = False

    @contextlib.contextmanager
    def watching(self, attempt: Attempt) -> Iterator[Attempt]:
        """For the length of the block; afterwards all that the attempt opened is closed."""
        number = next(self._numbers)
        self._add(number, attempt)
        try:
            yield attempt
        finally:
            with self._changed:
                self._open.pop(number, None)
            attempt.end("finished")

    def close(self) -> None:
        """End every attempt now, and each later one at once."""
        with self._changed:
            self._closed = True
            still_open = list(self._open.values())
            self._changed.notify()
        for attempt in still_open:
            attempt.end("closed")

    def _add(self, number: int, attempt: Attempt) -> None:
        with self._changed:
            self._open[number] = attempt
            heapq.heappush(self._due, (attempt.deadline, number))
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
                self._thread.start()
            self._changed.notify()
        if self._closed:
            attempt.end("closed")

    def _watch(self) -> None:
        while True:
            with self._changed:
                while not self._closed and (not self._due or self._due[0][0] > time.monotonic()):
                    self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
                if self._closed:
                    return
                attempt = self._open.get(heapq.heappop(self._due)[1])
            if attempt is not None:
                attempt.end("deadline")


def shut(connection: socket.socket) -> Close:
    """Closes a socket so that a thread reading from it wakes up."""
    def close() -> None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()
    return close
