"""Runs on the node: processes told apart by number and start time, and ended with everything they started."""

import os
import time
from typing import Any, Callable, Dict, List, Mapping

from fleetcheck.node import process

PR_SET_CHILD_SUBREAPER = 36  # include/uapi/linux/prctl.h
SAME_SECONDS = 0.02
MARK = "FLEETCHECK_LOAD_FOLDER"
"""Variable that every process of a load inherits, with the load's own folder: no other process has it."""

Record = Dict[str, Any]


def record(pid: int) -> Record:
    """What tells a process from a later one of the same number; started is 0 when it is already gone."""
    found = process.look(pid)
    return {"pid": pid, "started": found.started if found else 0.0, "session": found.session if found else pid}


def is_alive(told: Mapping[str, Any], word: str = "") -> bool:
    """Whether the recorded process still runs; ``word``: what its command line must hold as well."""
    pid = told.get("pid")
    found = process.look(pid) if isinstance(pid, int) else None
    if found is None or found.state in "ZX" or abs(found.started - told.get("started", 0)) > SAME_SECONDS:
        return False
    return not word or word in command_line(found.pid)


def command_line(pid: int) -> str:
    """The words of a process, with blanks between; "" when it is gone."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def members(told: Mapping[str, Any]) -> List[process.Process]:
    """The living processes of a recorded session leader's session; none when its number now belongs to another."""
    leader = process.look(told["pid"])
    if leader is not None and abs(leader.started - told["started"]) > SAME_SECONDS:
        return []
    return [one for one in process.processes()
            if one.session == told["pid"] and one.state not in "ZX" and one.started >= told["started"] - SAME_SECONDS]


def signal_session(told: Mapping[str, Any], number: int) -> None:
    """Send a signal to every member of a recorded session."""
    for one in members(told):
        send(one.pid, number)


def send(pid: int, number: int) -> None:
    """A signal to a process that may already be gone."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def end_session(told: Mapping[str, Any], seconds: float = 1.0) -> List[process.Process]:
    """Kill a recorded session; what no signal ended within ``seconds``."""
    until = time.monotonic() + seconds
    while True:
        left = members(told)
        if not left or time.monotonic() > until:
            return left
        for one in left:
            process.kill(one.pid)
        time.sleep(0.02)


def adopt_orphans() -> None:
    """Have what children leave behind become children of this process, so that it can end them."""
    if process.LIBC is not None:
        process.LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> List[int]:
    """The children of this process, dead ones too."""
    mine = os.getpid()
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if parent(pid) == mine]


def parent(pid: int) -> int:
    """The parent of a process; 0 when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as stat:
            return int(stat.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def end_orphans(ours: Callable[[int], bool]) -> None:
    """Kill and collect adopted processes, generation by generation; ``ours``: those that are looked after elsewhere."""
    for _ in range(50):
        strangers = [pid for pid in children() if not ours(pid)]
        if not strangers:
            return
        for pid in strangers:
            process.kill(pid)
            collect(pid)
        time.sleep(0.01)


def collect(pid: int) -> None:
    """Take the exit status of a child, if it has ended."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except OSError:
        pass


def marked(folder: str) -> List[process.Process]:
    """Living processes that inherited the mark of a load, wherever they went."""
    entry, found = ("%s=%s" % (MARK, folder)).encode(), []
    for one in process.processes():
        try:
            with open("/proc/%d/environ" % one.pid, "rb") as environment:
                if entry in environment.read().split(b"\0") and one.state not in "ZX":
                    found.append(one)
        except OSError:
            pass
    return found


def wait_gone(told: Mapping[str, Any], seconds: float) -> bool:
    """Whether a recorded process ended within ``seconds``."""
    until = time.monotonic() + seconds
    while is_alive(told):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
