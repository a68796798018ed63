"""Runs on the node: every requested collector in a child of its own, several at once, none beyond its deadline."""

import math
import os
import selectors
import signal
import sys
import time
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from fleetcheck.node import collectors, process
from fleetcheck.node.child import HEAD_BYTES, collect
from fleetcheck.node.encode import encode
from fleetcheck.node.host import Host

PARALLEL = 8
ANSWER_LIMIT = 4 << 20
GRACE_SECONDS = 0.5

Collect = Callable[..., Mapping[str, Any]]


class Ended(Exception):
    """The controller is gone or the request's time is over: nobody waits for an answer."""


class Collector(NamedTuple):
    """One entry of COLLECTORS that was asked for."""

    name: str
    collect: Collect
    seconds: float


class Child:
    """One collector at work."""

    def __init__(self, collector: Collector, pid: int, pipe: int, seconds: float) -> None:
        self.collector = collector
        self.pid = pid
        self.pipe = pipe
        self.seconds = seconds
        self.started = time.monotonic()
        self.said = bytearray()

    @property
    def deadline(self) -> float:
        """When its time is over."""
        return self.started + self.seconds

    def listen(self) -> bool:
        """Take what it says; True once it has said everything."""
        chunk = os.read(self.pipe, 1 << 16)
        self.said += chunk
        return not chunk or len(self.said) > ANSWER_LIMIT or self.answer() is not None

    def answer(self) -> Optional[bytes]:
        """Its answer, or None while it is incomplete."""
        if len(self.said) < HEAD_BYTES or len(self.said) < HEAD_BYTES + int(self.said[:HEAD_BYTES]):
            return None
        return bytes(self.said[HEAD_BYTES:HEAD_BYTES + int(self.said[:HEAD_BYTES])])


def failed(error: str, seconds: float = 0.0) -> bytes:
    """The answer of a collector that brought none."""
    return encode({"ok": False, "seconds": round(seconds, 3), "error": error,
                   "data": {}, "metrics": {}, "coverage": ""})


def expect_end(seconds: float) -> None:
    """Raise Ended when told to stop, and in any case a little after the request's time."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, _ended)
    signal.setitimer(signal.ITIMER_REAL, seconds + 2 * GRACE_SECONDS)


def _ended(number: int, frame: object) -> None:
    raise Ended("ended by signal %d" % number)


def gather(request: Mapping[str, Any], host: Host, controller: int) -> Dict[str, bytes]:
    """Answers by collector name, in JSON. ``controller``: a descriptor whose end of file means that nobody listens."""
    with Round(request, host, controller) as round_:
        return round_.run()


class Round:
    """The collectors of one request; leaving it ends those still at work."""

    def __init__(self, request: Mapping[str, Any], host: Host, controller: int) -> None:
        self.host = host
        self.settings = request["settings"]
        self.parallel = request.get("parallel", PARALLEL)
        self.seconds = request["seconds"]
        self.deadline = time.monotonic() + self.seconds
        self.selector = selectors.DefaultSelector()
        self.selector.register(controller, selectors.EVENT_READ, None)
        self.answers = {}  # type: Dict[str, bytes]
        self.working = []  # type: List[Child]
        self.waiting = self._wanted(request["collectors"])

    def __enter__(self) -> "Round":
        return self

    def __exit__(self, *_: object) -> None:
        for child in list(self.working):
            self._end(child, 0)

    def run(self) -> Dict[str, bytes]:
        """Start, listen and end until every collector has its answer."""
        while self.waiting or self.working:
            while self.waiting and len(self.working) < self.parallel:
                self._start(self.waiting.pop(0))
            for key, _ in self.selector.select(self._patience()):
                self._hear(key)
            for child in [child for child in self.working if time.monotonic() >= child.deadline]:
                self._give_up(child)
        return self.answers

    def _wanted(self, names: List[str]) -> List[Collector]:
        known = by_name(collectors.COLLECTORS)
        for name in names:
            if name not in known:
                self.answers[name] = failed("this version of the node code has no collector %r" % name)
        wanted = [known[name] for name in names if name in known]
        _load_nvml_for(wanted)
        return wanted

    def _patience(self) -> float:
        nearest = min([child.deadline for child in self.working], default=self.deadline)
        return max(nearest - time.monotonic(), 0)

    def _start(self, collector: Collector) -> None:
        seconds = min(collector.seconds, self.deadline - time.monotonic())
        stuck = stuck_before(collector)
        if seconds <= 0 or stuck:
            error = stuck or "not started: the %g s of this request were over" % self.seconds
            self.answers[collector.name] = failed(error)
            return
        readable, writable = os.pipe()
        pid = os.fork()
        if pid == 0:
            self.selector.close()
            collect(collector.name, collector.collect, self.host, self.settings, writable, math.ceil(seconds) + 1)
        os.close(writable)
        child = Child(collector, pid, readable, seconds)
        self.working.append(child)
        self.selector.register(readable, selectors.EVENT_READ, child)

    def _hear(self, key: selectors.SelectorKey) -> None:
        if key.data is None:
            if not os.read(key.fd, 1 << 16):
                raise Ended("the controller has gone")
        elif key.data in self.working and key.data.listen():
            self._finish(key.data)

    def _finish(self, child: Child) -> None:
        answer, seconds = child.answer(), time.monotonic() - child.started
        ending = self._end(child, GRACE_SECONDS)
        if answer is None and len(child.said) > ANSWER_LIMIT:
            answer = failed("its answer is longer than %d bytes" % ANSWER_LIMIT, seconds)
        self.answers[child.collector.name] = answer or failed("it ended without an answer (%s)" % ending, seconds)

    def _give_up(self, child: Child) -> None:
        ending = self._end(child, 0)
        what = "no answer within %g s, %s" % (round(child.seconds, 1), "killed" if ending == "signal 9" else ending)
        self.answers[child.collector.name] = failed(what, time.monotonic() - child.started)

    def _end(self, child: Child, patience: float) -> str:
        """End a child with everything it started; how it ended. One that no signal reaches is left to the kernel."""
        self.selector.unregister(child.pipe)
        os.close(child.pipe)
        self.working.remove(child)
        status = process.reap(child.pid, patience)
        if status is None:
            process.end_session(child.pid)
            status = process.reap(child.pid, GRACE_SECONDS)
        return process.ending(child.pid, status)


def by_name(entries: Iterable[Tuple[str, Collect, float]]) -> Dict[str, Collector]:
    """The collectors by name; ValueError for a name given twice, naming both owners."""
    known = {}  # type: Dict[str, Collector]
    for name, function, seconds in entries:
        if name in known:
            raise ValueError("collector %r is claimed by %s and by %s" % (
                name, known[name].collect.__module__, function.__module__))
        known[name] = Collector(name, function, seconds)
    return known


def _load_nvml_for(wanted: List[Collector]) -> None:
    """Import pynvml once, for all children; a collector that finds it missing says so itself."""
    if any(getattr(sys.modules[collector.collect.__module__], "NEEDS_NVML", False) for collector in wanted):
        try:
            import pynvml  # noqa: F401
        except Exception:  # noqa: BLE001
            pass


def stuck_before(collector: Collector, proc: str = "/proc") -> str:
    """Why a collector is not started, or "": an earlier one hangs in the kernel, well beyond its own deadline."""
    name = process.name_of(collector.name)
    for old in process.processes(proc):
        if old.name == name and old.state == "D" and process.age(old, proc) > collector.seconds:
            return "not started: an earlier run of it is stuck in D state, pid %d, for %d s" % (
                old.pid, process.age(old, proc))
    return ""
