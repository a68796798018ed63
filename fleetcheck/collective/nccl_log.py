"""Logs of NCCL and of PyTorch's watchdog: symptoms told from causes. Runs on the controller; pure.

A watchdog timeout and "closed by remote peer" are symptoms: the rank that speaks loudest is a victim. The cause is a line of another
kind, often later and of another process; without one, the ranks that are behind or silent are where to look, and nobody is blamed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fleetcheck.collective.reading import Said

_RANK = r"\[(?:PG [^\]]*?)?Rank (?P<rank>\d+)\]"
_TIMEOUT = re.compile(
    rf"(?:{_RANK} )?Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=(?P<work>\d+), OpType=(?P<kind>\w+),")
_PROGRESS = re.compile(
    rf"{_RANK} +(?:Exception \(either an error or timeout\) detected by watchdog at work|Timeout at NCCL work"
    r"|failure detected by watchdog at work sequence id): (?P<work>\d+),? (?:PG status: )?"
    r"last enqueued (?:NCCL )?work: (?P<enqueued>\d+), last completed (?:NCCL )?work: (?P<completed>\d+)")
_WARNING = re.compile(r"(?P<host>[\w.-]+):(?P<pid>\d+):\d+ \[(?P<device>\d+)\][^\n]*?NCCL WARN (?P<said>[^\n]*)")

CAUSES: Sequence[tuple[str, re.Pattern[str]]] = (
    ("gpu", re.compile(r"uncorrectable ECC|GPU is lost|fallen off the bus|hardware stack error|NVLink error", re.IGNORECASE)),
    ("workload", re.compile(r"out of memory|Failed to CUDA (?:calloc|malloc|host alloc)|Cuda failure 2\b", re.IGNORECASE)),
    ("config", re.compile(r"no CUDA-capable device|driver version is insufficient|invalid device ordinal|mismatched (?:NCCL )?version"
                          r"|Message truncated|system not yet initialized|Cuda failure 802\b|named symbol not found|PTX was compiled"
                          r"|no kernel image|Duplicate GPU|no socket interface found|busy or unavailable|/dev/shm|No space left on device"
                          r"|shared memory segment|ibv_\w+ failed.*Cannot allocate memory|ibv_reg_mr\w* failed", re.IGNORECASE)),
    ("network", re.compile(r"Got completion from peer .*(?:status=|error)|IBV_WC_\w+_ERR|ibv_\w+ failed|No route to host"
                           r"|async fatal event|(?<!non-)fatal async event"
                           r"|Got async (?:error )?event\s*:\s*(?!\s|GID|client|LID|SM |P_?Key|port active)"
                           r"|Network is unreachable", re.IGNORECASE)),
)
"""Words that name a cause, the surest first: a GPU that broke may let another run out of memory, never the reverse. Of the events
of a card those that a subnet manager or a renewed address brings about are none; registering memory fails for want of a limit."""
_CUDA = re.compile(r"(?:\[rank(?P<rank>\d+)\]:)?[^\n]*CUDA error: (?P<said>(?:uncorrectable ECC error|hardware stack error|an? NVLink error"
                   r"|Invalid access of peer GPU memory over nvlink or a hardware error)[^\n]{0,120})")
"""What PyTorch says of a GPU that broke, where NCCL says nothing."""
_LAST = re.compile(r"(?:\[rank(?P<rank>\d+)\]: ?)?Last error:\s*\n(?P<said>[^\n]{1,300})")
"""How PyTorch passes on the library's last warning where nobody asked for its log."""
_MEMORY = re.compile(r"(?:torch(?:\.cuda)?\.OutOfMemoryError|RuntimeError): (?:CUDA out of memory|CUDA error: out of memory)[^\n]{0,120}"
                     r"|torch(?:\.cuda)?\.OutOfMemoryError: [^\n]{0,120}")


@dataclass(frozen=True, slots=True)
class Stop:
    """Where one rank stopped. rank is None where the line does not name it; completed: its last finished work, where it is told."""

    rank: int | None
    work: int
    completed: int | None = None


@dataclass(frozen=True, slots=True)
class Warned:
    """One warning of NCCL: who gave it, and what it says."""

    host: str
    pid: int
    device: int
    said: str


def stops(text: str) -> list[Stop]:
    """Every word of a watchdog, wherever in a line it stands and however it was wrapped."""
    flat = " ".join(text.split())
    timeouts = [Stop(int(found["rank"]) if found["rank"] else None, int(found["work"])) for found in _TIMEOUT.finditer(flat)]
    return timeouts + [Stop(int(found["rank"]), int(found["work"]), int(found["completed"])) for found in _PROGRESS.finditer(flat)]


def warnings(text: str) -> list[Warned]:
    """NCCL's warnings in their order.

    >>> warnings("n1:70:71 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'")[0].device
    3
    """
    return [Warned(found["host"], int(found["pid"]), int(found["device"]), found["said"].strip()) for found in _WARNING.finditer(text)]


def explain(text: str, ranks: int | None = None) -> Said:
    """What a job's log says of its end. ranks: how many the job had, to name those that said nothing."""
    told, stopped = warnings(text), stops(text)
    for judge in (_broken_gpu, _named_cause, _passed_on, _out_of_memory):
        said = judge(told, text)
        if said:
            return said
    if stopped:
        return Said("error", "unknown", _behind(stopped, ranks))
    if told:
        return Said("error", "unknown", f"only symptoms: {told[0].host}: {told[0].said}")
    return Said("error", "unknown", "neither NCCL nor its watchdog says why the job ended")


def _named_cause(told: Sequence[Warned], text: str) -> Said | None:
    for cause, words in CAUSES:
        found = next((each for each in told if words.search(each.said)), None)
        if found:
            return _OF[cause](found)
    return None


def cause_of(said: str) -> str:
    """The cause that words of NCCL or CUDA name; empty for a symptom.

    >>> cause_of("Cuda failure 'uncorrectable ECC error encountered'"), cause_of("Connection closed by remote peer")
    ('gpu', '')
    """
    return next((cause for cause, words in CAUSES if words.search(said)), "")


def _passed_on(told: Sequence[Warned], text: str) -> Said | None:
    """A cause in the words of NCCL that PyTorch quotes in its exception."""
    for cause, _ in CAUSES:
        found = next((each for each in _LAST.finditer(text) if cause_of(each["said"]) == cause), None)
        if found:
            who = f"rank {found['rank']}" if found["rank"] else "a rank that is not named"
            return Said(_OUTCOMES.get(cause, "error"), cause, f"{who}: {found['said'].strip()}")
    return None


def _broken_gpu(told: Sequence[Warned], text: str) -> Said | None:
    found = _CUDA.search(text)
    who = f"rank {found['rank']}: " if found and found["rank"] else ""
    return Said("failed", "gpu", f"{who}{found['said']}") if found else None


def _out_of_memory(told: Sequence[Warned], text: str) -> Said | None:
    found = _MEMORY.search(text)
    return Said("passed", "workload", f"the job ran out of GPU memory: {found[0]}; no fault of a node") if found else None


def _of_workload(found: Warned) -> Said:
    return Said("passed", "workload", f"the job ran out of GPU memory on {_place(found)}; no fault of the network or a node, unless that "
                                      "GPU holds memory while idle")


def _of_network(found: Warned) -> Said:
    return Said("error", "network", f"{_place(found)}: {found.said}; try both ends with other partners")


_OUTCOMES = {"workload": "passed", "gpu": "failed"}
_OF: dict[str, Callable[[Warned], Said]] = {
    "workload": _of_workload,
    "network": _of_network,
    "gpu": lambda found: Said("failed", "gpu", f"{_place(found)}: {found.said}"),
    "config": lambda found: Said("error", "config", f"{_place(found)}: {found.said}"),
}


def _place(found: Warned) -> str:
    return f"{found.host}, GPU {found.device} (pid {found.pid})"


def _behind(stopped: Sequence[Stop], ranks: int | None) -> str:
    """Who is behind and who is silent: where to look, which is not who is to blame."""
    works = {stop.work for stop in stopped}
    known = {stop.rank for stop in stopped if stop.rank is not None}
    words = [f"the watchdog stopped the job at work {', '.join(map(str, sorted(works)))}"]
    if len(works) > 1:
        last = [str(stop.rank) for stop in stopped if stop.work == min(works) and stop.rank is not None]
        words.append(f"the ranks are out of step, behind: rank {', '.join(dict.fromkeys(last)) or 'not named'}")
    silent = sorted(set(range(ranks)) - known) if ranks else []
    if silent:
        words.append(f"silent: rank {', '.join(map(str, silent))}")
    return "; ".join(words) + "; a symptom: read the kernel logs of those ranks' nodes"
