"""Processes that a simulated node left behind: adopted by the sandbox server, reaped, ended with it (Linux)."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Collection
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Have orphaned descendants become children of this process (PR_SET_CHILD_SUBREAPER of prctl(2))."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> dict[int, str]:
    """Process id → state letter of every child of this process; empty where there is no /proc."""
    found = {}
    listed = _listed()
    for pid in _searched() if listed is None else listed:
        with contextlib.suppress(OSError, IndexError):
            state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid():
                found[pid] = state
    return found


def _listed() -> list[int] | None:
    """The children of every thread, as a kernel with CONFIG_PROC_CHILDREN tells them; None where it does not."""
    lists = [_text(task / "children") for task in Path("/proc/self/task").glob("[0-9]*")]
    told = [text for text in lists if text is not None]
    return [int(pid) for pid in " ".join(told).split()] if told else None


def _text(file: Path) -> str | None:
    try:
        return file.read_text()
    except OSError:
        return None


def _searched() -> list[int]:
    """Every process there is."""
    return [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]


def reap(candidates: Collection[int]) -> None:
    """Collect the exit status of these adopted children, if they have ended."""
    for pid in candidates:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def end_all() -> None:
    """Kill every descendant: children first, then those that become children by it, until none is left."""
    while pids := children():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
