"""Runs a call in a child process and watches its progress: a hung driver is found, named, left behind (node side)."""

import json
import os
import select
import signal
import time
from typing import Any, Callable, NamedTuple, Tuple

Note = Callable[[str], None]


class Outcome(NamedTuple):
    """What came of it: the result, or the step at which it hung ("") and why it failed ("")."""

    result: Any
    hung_at: str
    error: str


def watched(call: Callable[[Note], Any], stall_seconds: float) -> Outcome:
    """Run call(note) in a child. It hangs when one step lasts stall_seconds while its process sleeps in the kernel.

    A process that still computes is only starved of CPU and is waited for; the runner's own deadline ends that.
    """
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(call, writable)
    os.close(writable)
    try:
        return heard(readable, pid, stall_seconds)
    finally:
        os.close(readable)
        end(pid)


def child(call: Callable[[Note], Any], writable: int) -> None:
    """The child's whole life: one JSON line per step, the last one with the result."""
    # A child stuck in the kernel must not hold its parent's pipes open.
    os.closerange(3, writable)
    os.closerange(writable + 1, 256)
    try:
        line = {"result": call(lambda step: send(writable, {"step": step}))}
    except BaseException as error:  # noqa: BLE001 - nothing may unwind into the parent's frames
        line = {"error": "%s: %s" % (type(error).__name__, error)}
    send(writable, line)
    os._exit(0)


def send(writable: int, line: Any) -> None:
    """One line, whole."""
    text = (json.dumps(line) + "\n").encode()
    while text:
        text = text[os.write(writable, text):]


def heard(readable: int, pid: int, stall_seconds: float) -> Outcome:
    """Follow the child's lines until its result, its end or its hang."""
    buffer, step, last, ticks = b"", "start", time.monotonic(), 0
    while True:
        if select.select([readable], [], [], 0.5)[0]:
            chunk = os.read(readable, 1 << 16)
            if not chunk:
                return Outcome(None, "", "ended at %s without an answer" % step)
            last, buffer = time.monotonic(), buffer + chunk
            lines = buffer.split(b"\n")
            buffer = lines.pop()
            for line in lines:
                message = json.loads(line.decode())
                if "step" not in message:
                    return Outcome(message.get("result"), "", message.get("error", ""))
                step = message["step"]
        elif time.monotonic() - last > stall_seconds:
            state, now = state_and_ticks(pid)
            if state != "R" and now == ticks:
                return Outcome(None, "%s (process state %s)" % (step, state), "")
            ticks = now


def state_and_ticks(pid: int) -> Tuple[str, int]:
    """A child's state letter and the CPU ticks it has used, from the kernel itself."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as stat:
            words = stat.read().rpartition(b")")[2].split()
        return words[0].decode(), int(words[11]) + int(words[12])
    except (OSError, IndexError, ValueError):
        return "?", 0


def end(pid: int) -> None:
    """Kill and reap; one stuck in D state is left to the kernel."""
    os.kill(pid, signal.SIGKILL)
    for _ in range(20):
        if os.waitpid(pid, os.WNOHANG)[0]:
            return
        time.sleep(0.01)
