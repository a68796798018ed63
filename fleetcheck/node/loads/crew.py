"""Runs on the node: worker processes of a load that needs no torch: forked, heard by JSON lines, ended with the load."""

import json
import os
import selectors
import signal
import time
import traceback
from typing import Any, Callable, Dict, List, Sequence

from fleetcheck.node import process
from fleetcheck.node.encode import encode
from fleetcheck.node.loads.task import Task

GRACE_SECONDS = 5.0

Line = Dict[str, Any]


class Worker:
    """One process at work. ``error``: why it brought no end, or ""."""

    def __init__(self, number: int, pid: int, pipe: int) -> None:
        self.number = number
        self.pid = pid
        self.pipe = pipe
        self.said = b""
        self.ended = False
        self.error = ""


def run(task: Task, numbers: Sequence[int], work: Callable[[int, Callable[[Line], None]], None],
        heard: Callable[[int, Line], None]) -> List[Worker]:
    """Run ``work(number, tell)`` in a process each until the load is over; heard(number, line) gets what they tell."""
    workers = [fork(number, work) for number in numbers]
    try:
        attend(task, workers, heard)
    finally:
        for worker in workers:
            end(worker)
    return workers


def fork(number: int, work: Callable[[int, Callable[[Line], None]], None]) -> Worker:
    """One worker."""
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(readable)
        become(number, work, writable)
    os.close(writable)
    return Worker(number, pid, readable)


def become(number: int, work: Callable[[int, Callable[[Line], None]], None], pipe: int) -> None:
    """The worker's whole life."""
    process.die_with_parent()
    try:
        work(number, lambda line: tell(pipe, line))
        tell(pipe, {"end": True})
    except BaseException as error:  # noqa: BLE001 - nothing may unwind into the parent's frames
        traceback.print_exc()
        tell(pipe, {"error": "%s: %.300s" % (type(error).__name__, error)})
    finally:
        os._exit(0)


def tell(pipe: int, line: Line) -> None:
    """One line, whole."""
    view = memoryview(encode(line) + b"\n")
    while view:
        view = view[os.write(pipe, view):]


def attend(task: Task, workers: Sequence[Worker], heard: Callable[[int, Line], None]) -> None:
    """Hear all workers to their ends, or until a while after the load's end."""
    with selectors.DefaultSelector() as selector:
        for worker in workers:
            selector.register(worker.pipe, selectors.EVENT_READ, worker)
        late = None
        while selector.get_map():
            if task.over() and late is None:
                late = time.monotonic() + GRACE_SECONDS
            if late is not None and time.monotonic() > late:
                break
            for key, _ in selector.select(0.2):
                if not listen(key.data, heard):
                    selector.unregister(key.fd)
    for worker in workers:
        if not worker.ended and not worker.error:
            worker.error = "it did not end within %g s after the load" % GRACE_SECONDS if alive(worker) else how(worker)


def listen(worker: Worker, heard: Callable[[int, Line], None]) -> bool:
    """Take what a worker tells; False when it will tell no more."""
    chunk = os.read(worker.pipe, 1 << 16)
    *lines, worker.said = (worker.said + chunk).split(b"\n")
    for line in lines:
        found = json.loads(line.decode())
        worker.ended = worker.ended or "end" in found
        worker.error = worker.error or found.get("error", "")
        if "end" not in found and "error" not in found:
            heard(worker.number, found)
    return bool(chunk)


def alive(worker: Worker) -> bool:
    """Whether it still runs."""
    return os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def how(worker: Worker) -> str:
    """How a worker that said nothing of an end came to it."""
    status = process.reap(worker.pid, 1.0)
    worker.pid = 0
    return "its process ended without a word (%s)" % (
        "signal %d" % os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else "exit status %s" % status)


def end(worker: Worker) -> None:
    """Kill and collect."""
    os.close(worker.pipe)
    if worker.pid:
        process.kill(worker.pid)
        process.reap(worker.pid, 2.0)


def die_after(seconds: float) -> None:
    """A fault of a simulated node: this process is killed after a while (0: it is not)."""
    if seconds and os.fork() == 0:
        parent = os.getppid()
        process.die_with_parent()
        time.sleep(seconds)
        os.kill(parent, signal.SIGKILL)
        os._exit(0)
