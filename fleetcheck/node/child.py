"""Runs on the node: one collector in its own process, from its start to its answer."""

import os
import resource
import signal
import sys
import time
from types import TracebackType
from typing import Any, Callable, Dict, Mapping, NoReturn, Optional, Set

from fleetcheck.node import process
from fleetcheck.node.encode import encode

HEAD_BYTES = 10

Function = Callable[..., Mapping[str, Any]]


def collect(name: str, function: Function, host: Any, settings: Mapping[str, Any], pipe: int, seconds: int) -> NoReturn:
    """Become the collector: run it, write ten digits and its answer to the pipe, end. Never returns to the caller."""
    try:
        stand_alone(name, pipe, seconds)
        started = time.monotonic()
        block = answered(function, host, settings, started)
        tell(pipe, b"%010d" % len(block) + block)
    finally:
        os._exit(0)


def stand_alone(name: str, pipe: int, seconds: int) -> None:
    """A session of its own, a name for later runs, no stream of the parent's, an end even without the parent."""
    os.setsid()
    process.die_with_parent()
    process.set_name(process.name_of(name))
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.alarm(seconds)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    let_go(keep={0, 1, 2, pipe, archive()})


def let_go(keep: Set[int]) -> None:
    """Close what was inherited: a child stuck in the kernel must not keep the controller's connection open."""
    for descriptor in set(range(3, 256)) - keep:
        try:
            os.close(descriptor)
        except OSError:
            pass


def archive() -> int:
    """The descriptor that later imports read from; 0 when the node code lies in a folder."""
    head, _, tail = sys.path[0].rpartition("/")
    return int(tail) if head == "/proc/self/fd" else 0


def answered(function: Function, host: Any, settings: Mapping[str, Any], started: float) -> bytes:
    """The answer in JSON; an exception of the collector, or data that is none, is its error."""
    try:
        data = function(host, settings)
        return encode(answer(True, "", dict(data), started))
    except BaseException as error:  # noqa: BLE001 - whatever a collector does, it answers
        return encode(answer(False, described(error), {}, started))


def answer(ok: bool, error: str, data: Dict[str, Any], started: float) -> Dict[str, Any]:
    """The mapping of records.Answer; ``coverage`` is the data's own, if it has one."""
    coverage = data.get("coverage", "")
    return {"ok": ok, "seconds": round(time.monotonic() - started, 3), "error": error, "data": data,
            "metrics": metrics(), "coverage": coverage if isinstance(coverage, str) else ""}


def metrics() -> Dict[str, float]:
    """What the answer cost the node."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"cpu_seconds": round(sum(os.times()[:4]), 3), "memory_bytes": memory}


def described(error: BaseException) -> str:
    """Type, message and place: ``KeyError: 'vbios' (gpu.py:120, identity)``."""
    place = innermost(error.__traceback__)
    return "%s: %s%s" % (type(error).__name__, str(error)[:500], " (%s)" % place if place else "")


def innermost(trace: Optional[TracebackType]) -> str:
    """The deepest line of collector code in a traceback, else the deepest line."""
    lines, ours = [], []
    while trace is not None:
        code = trace.tb_frame.f_code
        line = "%s:%d, %s" % (os.path.basename(code.co_filename), trace.tb_lineno, code.co_name)
        lines.append(line)
        if "/collectors/" in code.co_filename:
            ours.append(line)
        trace = trace.tb_next
    return (ours or lines or [""])[-1]


def tell(pipe: int, block: bytes) -> None:
    """Write it all."""
    view = memoryview(block)
    while view:
        view = view[os.write(pipe, view):]
