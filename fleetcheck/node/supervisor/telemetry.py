"""Runs on the node: looks after the telemetry process: hears its lines, and replaces one that hangs or dies.

A hung call is named and not made again: it costs its own value. A process that no signal reaches is left to the kernel.
"""

import json
import os
import time
from typing import Any, Callable, Dict, List, Set, Tuple

from fleetcheck.node import process
from fleetcheck.node.collectors.watched import state_and_ticks
from fleetcheck.node.host import Host
from fleetcheck.node.supervisor import alive, sampler

MOST_STARTS = 40
STARVED_FACTOR = 6
HUNG_CALLS = 2
"""So many different calls that hang make their GPU one that hangs."""
LINE_LIMIT = 4 << 20


class Telemetry:
    """One telemetry process at a time. ``heard``: called with each line; ``trouble``: with words and the GPU or None."""

    def __init__(self, host: Host, intervals: Tuple[float, float], stall_seconds: float,
                 heard: Callable[[Dict[str, Any]], None], trouble: Callable[[str, Any], None]) -> None:
        self.host = host
        self.intervals = intervals
        self.stall_seconds = stall_seconds
        self.heard = heard
        self.trouble = trouble
        self.hung: Set[str] = set()
        self.left: List[int] = []
        self.starts, self.pid, self.pipe = 0, 0, -1
        self.begin()

    def begin(self) -> None:
        """Start a process, unless so many came to nothing that another would too."""
        self.pid, self.pipe, self.said = 0, -1, bytearray()
        self.last, self.ticks, self.waited = time.monotonic(), -1, 0
        if self.starts >= MOST_STARTS:
            return
        self.starts += 1
        self.board = sampler.Board()
        readable, writable = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(readable)
            sampler.run(self.host, writable, self.board, self.hung, *self.intervals)
        os.close(writable)
        os.set_blocking(readable, False)
        self.pid, self.pipe = pid, readable

    def listen(self) -> bool:
        """Take what it says; False once it has ended."""
        try:
            chunk = os.read(self.pipe, 1 << 18)
        except BlockingIOError:
            return True
        if not chunk or len(self.said) > LINE_LIMIT:
            return False
        self.last, self.waited = time.monotonic(), 0
        *lines, rest = (bytes(self.said) + chunk).split(b"\n")
        self.said = bytearray(rest)
        for line in lines:
            message = json.loads(line.decode())
            if "error" in message:
                self.trouble("telemetry ended: %s" % message["error"], None)
            else:
                self.heard(message)
        return True

    def patience(self) -> float:
        """Seconds of silence that are no hang."""
        return max(self.stall_seconds, 3 * self.intervals[0])

    def is_hung(self) -> bool:
        """Whether it is silent and does not compute; one that is only starved of processor time gets longer."""
        if not self.pid or time.monotonic() - self.last < self.patience():
            return False
        state, ticks = state_and_ticks(self.pid)
        starved = state == "R" or ticks != self.ticks
        self.ticks = ticks
        if starved and self.waited < STARVED_FACTOR:
            self.last, self.waited = time.monotonic() - self.patience() / 2, self.waited + 1
            return False
        return True

    def replace(self) -> None:
        """Begin anew after a hang, without the call at which it hung."""
        step = self.board.read()
        self.trouble("telemetry hung for %g s at %s (process state %s); this value is not asked for again" % (
            time.monotonic() - self.last, step, process.state_of(self.pid)), gpu_of(step))
        self.hung.add(step)
        label = step.split(":")[0]
        if sum(1 for each in self.hung if each.startswith(label + ": ")) >= HUNG_CALLS:
            self.hung.add(label)
        self.end()
        self.begin()

    def end(self) -> None:
        """Kill it and let go of it."""
        if self.pid:
            process.kill(self.pid)
            self.left.append(self.pid)
            os.close(self.pipe)
        self.pid, self.pipe = 0, -1
        self.collect()

    def collect(self) -> None:
        """Take the exit status of those that ended."""
        for pid in list(self.left):
            alive.collect(pid)
            if process.look(pid) is None:
                self.left.remove(pid)

    def owns(self, pid: int) -> bool:
        """Whether a child of the supervisor is this process or one left behind."""
        return pid == self.pid or pid in self.left


def gpu_of(step: str) -> Any:
    """The GPU that a step is about, or None.

    >>> gpu_of("GPU 3: nvmlDeviceGetTemperature"), gpu_of("NVML: nvmlInit")
    (3, None)
    """
    words = step.split(":")[0].split()
    return int(words[1]) if len(words) == 2 and words[0] == "GPU" and words[1].isdigit() else None
