"""A node on its way through a load, and what each of its three questions looks like. Runs on the controller."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from fleetcheck.burnin.record import Kept
from fleetcheck.burnin.schedule import Course
from fleetcheck.exchange import Request
from fleetcheck.inventory import Node

PROBE = "load"
START_SECONDS, POLL_SECONDS, END_SECONDS = 95.0, 45.0, 95.0
"""What each question may take on the node."""
POLL_BYTES = 1 << 20
"""Of one poll's answer, roughly: many come at once, and in memory each is ten times as big."""
LONGEST_POLL_SECONDS = 300.0
SHORTEST_POLL_SECONDS = 10.0
SECONDS_PER_NODE = 0.6
"""Between two polls of a fleet: logging in costs the controller 20 to 30 ms of its processor."""
LATE_SECONDS = 15.0


@dataclass
class Under:
    """offset: where its evidence begins, once it is written. looked, begins, expected, deadline: by the timer's clock; looked:
    when it was last known to be idle; expected: when a
    load that goes well is over, deadline: when the node ends it by itself. attached: an earlier session began it. boot_id: as last
    told. lock: held while something is asked of the node.
    """

    node: Node
    request: Request
    kept: Kept
    offset: Future[int] = field(default_factory=Future)
    course: Course | None = None
    looked: float = float("-inf")
    begins: float = 0.0
    expected: float = float("inf")
    deadline: float = float("inf")
    tries: int = 0
    attached: bool = False
    state: str = ""
    boot_id: str = ""
    ended_why: str = ""
    cleaned: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.name

    @property
    def open(self) -> bool:
        """Whether the node may hold a load that is to be ended; samples that nobody could fetch yet are left to a later session."""
        return self.kept.begun and self.kept.state != "lost" and not self.cleaned

    def question(self, collector: str, seconds: float, load: dict[str, Any]) -> Request:
        """One of the three questions; ``load`` is what its collector is told."""
        return Request(self.request.run, "load", PROBE, (collector,), seconds, {"load": load})


def poll_seconds(load_seconds: float, nodes: int) -> float:
    """Seconds between two polls of one node: minutes for a night's load, and for a big fleet.

    >>> poll_seconds(4 * 3600, 64), poll_seconds(4 * 3600, 1024), poll_seconds(40, 4)
    (300.0, 614.4, 10.0)
    """
    return max(SECONDS_PER_NODE * nodes, min(LONGEST_POLL_SECONDS, max(SHORTEST_POLL_SECONDS, load_seconds / 20)))


def next_poll(now: float, every: float, under: Under) -> float:
    """Seconds until a node is polled next: in its turn, or as soon as its load should be over."""
    ends = [moment + 1.0 for moment in (under.expected, under.deadline) if moment + 1.0 > now]
    if not ends:
        return LATE_SECONDS
    return max(1.0, min(every, min(ends) - now))
