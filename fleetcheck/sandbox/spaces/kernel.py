"""Calls of the kernel that the standard library lacks: namespaces, mounts, the host's name, an end with the parent (Linux)."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path

NEW_MOUNTS, NEW_NAME, NEW_IPC, NEW_PIDS, NEW_NET = 0x00020000, 0x04000000, 0x08000000, 0x20000000, 0x40000000
"""CLONE_NEW… of sched.h."""
APART = NEW_MOUNTS | NEW_NAME | NEW_IPC | NEW_PIDS | NEW_NET
BIND, RECURSIVE, PRIVATE = 4096, 16384, 1 << 18
"""MS_… of sys/mount.h."""
PR_SET_PDEATHSIG = 1


def _called(name: str, *arguments: object) -> None:
    """A function of the C library; raises OSError naming it."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)


def unshare(which: int) -> None:
    """Leave these namespaces for new ones; those of process ids hold for children only."""
    _called("unshare", which)


def mount(source: str, place: str, kind: str = "", flags: int = 0) -> None:
    """mount(2) without options."""
    _called("mount", source.encode(), place.encode(), kind.encode(), ctypes.c_ulong(flags), None)


def own_mounts() -> None:
    """Nothing mounted here from now on shows anywhere else; /proc tells of the processes of this namespace."""
    mount("none", "/", flags=RECURSIVE | PRIVATE)
    mount("proc", "/proc", "proc")


def die_with_parent() -> None:
    """SIGKILL when the process that forked this one ends, however it does."""
    _called("prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)


def sethostname(name: str) -> None:
    """The name of this host."""
    _called("sethostname", name.encode(), len(name.encode()))


def refusal() -> str:
    """Why this kernel or user cannot have namespaces, tried in a process of its own; empty when it can."""
    if os.geteuid() != 0:
        return "it needs root"
    readable, writable = os.pipe()
    pid = os.fork()
    if pid == 0:
        _try(writable)
    os.close(writable)
    with os.fdopen(readable, encoding="utf-8") as said:
        why = said.read()
    os.waitpid(pid, 0)
    return why


def _try(writable: int) -> None:
    """Write what was refused, then end."""
    try:
        unshare(NEW_MOUNTS | NEW_NAME | NEW_IPC | NEW_NET)
        mount("none", "/", flags=RECURSIVE | PRIVATE)
        mount("none", "/sys", "sysfs")
        Path("/sys/class/net/lo").stat()
    except OSError as error:
        os.write(writable, str(error).encode())
    finally:
        os._exit(0)
