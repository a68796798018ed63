"""Runs on the node: the telemetry process. One JSON line a sample; what it does is noted where its watcher can read it."""

import json
import mmap
import os
import signal
import time
from typing import Any, Dict, List, NoReturn, Set

from fleetcheck.node import process
from fleetcheck.node.child import let_go
from fleetcheck.node.encode import plain
from fleetcheck.node.host import Host
from fleetcheck.node.supervisor import node_sample

NAME = "fc-telemetry"
NOTE_BYTES = 200
KERNEL, IMPORT = "counters of the kernel", "import of pynvml"


class Board:
    """A page shared with the watcher: the step at which this process is."""

    def __init__(self) -> None:
        self.page = mmap.mmap(-1, mmap.PAGESIZE)

    def note(self, step: str) -> None:
        """Write the step down: no system call, so that each NVML call may say its name."""
        text = step.encode("utf-8", "replace")[:NOTE_BYTES]
        self.page[:NOTE_BYTES + 1] = text.ljust(NOTE_BYTES + 1, b"\0")

    def read(self) -> str:
        """The latest step."""
        return self.page[:NOTE_BYTES].rstrip(b"\0").decode("utf-8", "replace")


def run(host: Host, pipe: int, board: Board, hung: Set[str], interval: float, apart: float) -> NoReturn:
    """Become the sampler: a sample every ``interval`` seconds, with the costly counters every ``apart`` seconds."""
    try:
        process.die_with_parent()
        process.set_name(NAME)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        let_go(keep={pipe})
        watch(host, pipe, board, hung, interval, apart)
    except BaseException as error:  # noqa: BLE001 - nothing may unwind into the supervisor's frames
        tell(pipe, {"error": "%s: %s" % (type(error).__name__, error)})
    finally:
        os._exit(1)


def watch(host: Host, pipe: int, board: Board, hung: Set[str], interval: float, apart: float) -> None:
    """Sample for ever; the end comes from outside."""
    cards, absent = opened(board, hung)
    tell(pipe, {"identity": [card.identity() for card in cards], "absent": absent,
                "functions": node_sample.functions(host)})
    watched, due, costly = node_sample.functions(host), time.monotonic(), 0.0
    while True:
        began = time.monotonic()
        line = {"at": began, "gpus": {str(card.index): card.sample() for card in cards}, "absent": absent}
        if began >= costly and KERNEL not in hung:
            line.update(slow(host, cards, watched, board))
            costly = began + apart - interval / 2
        tell(pipe, line)
        board.note("waiting")
        due = max(due + interval, time.monotonic())
        time.sleep(max(due - time.monotonic(), 0))


def slow(host: Host, cards: List[Any], watched: List[Dict[str, Any]], board: Board) -> Dict[str, Any]:
    """What is read once a window."""
    board.note(KERNEL)
    found = {"node": node_sample.processors(host), "aer": node_sample.aer(host, watched), "edac": node_sample.edac(host),
             "cpu_seconds": sum(os.times()[:2])}
    found["counters"] = {str(card.index): card.counters() for card in cards}
    return found


def opened(board: Board, hung: Set[str]) -> Any:
    """The GPUs, or none and why."""
    if IMPORT in hung:
        return [], "the import of pynvml hung"
    board.note(IMPORT)
    try:
        from fleetcheck.node.supervisor.gpu_sample import cards
    except ImportError as error:
        return [], str(error)
    return cards(board.note, hung)


def tell(pipe: int, line: Dict[str, Any]) -> None:
    """One line, whole."""
    view = memoryview(json.dumps(plain(line), separators=(",", ":")).encode() + b"\n")
    while view:
        view = view[os.write(pipe, view):]
