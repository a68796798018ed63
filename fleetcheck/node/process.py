"""Runs on the node: what processes are called, whether they are stuck, and how a whole session of them is ended."""

import os
import signal
import time
from typing import Any, List, NamedTuple, Optional

PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
NAME_BYTES = 15  # TASK_COMM_LEN - 1: the kernel cuts the rest


class Process(NamedTuple):
    """One process as /proc/PID/stat shows it; started in seconds since boot."""

    pid: int
    name: str
    state: str
    session: int
    started: float


def _libc() -> Any:
    try:
        import ctypes

        return ctypes.CDLL(None)
    except (ImportError, OSError):
        return None


LIBC = _libc()


def die_with_parent() -> None:
    """Have the kernel kill this process when its parent ends, however that ends."""
    if LIBC is not None:
        LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def set_name(name: str) -> None:
    """Call this process ``name`` in ps, so that a later run recognises it."""
    try:
        with open("/proc/self/comm", "wb") as comm:
            comm.write(name.encode()[:NAME_BYTES])
    except OSError:
        pass


def processes(proc: str = "/proc") -> List[Process]:
    """Every process of this machine that may be seen."""
    found = (look(int(entry), proc) for entry in os.listdir(proc) if entry.isdigit())
    return [process for process in found if process is not None]


def look(pid: int, proc: str = "/proc") -> Optional[Process]:
    """One process, or None when it is gone."""
    try:
        with open("%s/%d/stat" % (proc, pid), "rb") as stat:
            return parsed(stat.read().decode("utf-8", "replace"))
    except (OSError, ValueError, IndexError):
        return None


def parsed(line: str) -> Process:
    """A line of /proc/PID/stat (proc(5)); the name may hold blanks and parentheses.

    >>> parsed("7 (fc-a) b) D 1 5 5 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 900 0").name
    'fc-a) b'
    """
    head, _, tail = line.rpartition(")")
    pid, _, name = head.partition("(")
    fields = tail.split()
    return Process(int(pid), name, fields[0], int(fields[3]), int(fields[19]) / os.sysconf("SC_CLK_TCK"))


def state_of(pid: int) -> str:
    """The one-letter state of a process (D: uninterruptible), or "?" when it is gone."""
    process = look(pid)
    return process.state if process else "?"


def end_session(session: int) -> None:
    """Kill every process of a session, also those that made themselves a group of their own."""
    for _ in range(3):
        members = [process for process in processes() if process.session == session and process.state != "Z"]
        for process in members:
            kill(process.pid)
        if not members:
            return
        time.sleep(0.01)


def kill(pid: int) -> None:
    """SIGKILL to a process that may already be gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def reap(pid: int, seconds: float) -> Optional[int]:
    """Collect a child that should have ended: its wait status, or None when it has not ended within ``seconds``."""
    deadline = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return status
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.005)


def ending(pid: int, status: Optional[int]) -> str:
    """How a child ended, from its wait status; None: no signal reached it."""
    if status is None:
        return "stuck in %s state, pid %d" % (state_of(pid), pid)
    if os.WIFSIGNALED(status):
        return "signal %d" % os.WTERMSIG(status)
    return "exit status %d" % os.WEXITSTATUS(status)


def name_of(collector: str) -> str:
    """What ps calls a collector, as the kernel cuts it."""
    return "fc-%s" % collector.encode()[:NAME_BYTES - 3].decode("utf-8", "ignore")


def age(old: Process, proc: str = "/proc") -> float:
    """For how many seconds a process has been there."""
    with open(proc + "/uptime") as uptime:
        return float(uptime.read().split()[0]) - old.started
