"""Runs on the node: a memory cgroup for one process, where one can be made (v2 or v1), so that a load cannot starve the node."""

import os
import re
import time
from typing import Iterable, List, Tuple

ROOT = "/sys/fs/cgroup"


def make(name: str, limit: int, root: str = ROOT) -> str:
    """A new cgroup held to ``limit`` bytes; "" where none can be made (no root, a container, no memory controller)."""
    for parent, knob in candidates(root):
        path = os.path.join(parent, name)
        try:
            os.mkdir(path)
        except OSError:
            continue
        if put(path, knob, limit):
            return path
        remove([path])
    return ""


def candidates(root: str) -> List[Tuple[str, str]]:
    """Where a cgroup may be made and the name of its limit: v2 below the root's own, v1 below this process's own."""
    found: List[Tuple[str, str]] = []
    if "memory" in read(os.path.join(root, "cgroup.subtree_control")).split():
        found.append((root, "memory.max"))
    own = re.findall(r"^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(/.*)$", read("/proc/self/cgroup"), re.MULTILINE)
    for path in own:
        found.append((os.path.join(root, "memory", path.strip("/")), "memory.limit_in_bytes"))
        found.append((os.path.join(root, "memory"), "memory.limit_in_bytes"))
    return found


def read(path: str) -> str:
    """A file's text; "" when unreadable."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def put(path: str, knob: str, value: object) -> bool:
    """Write one value; whether the kernel took it."""
    try:
        with open(os.path.join(path, knob), "w") as file:
            file.write("%s\n" % value)
    except OSError:
        return False
    return True


def enter(path: str) -> None:
    """Move this process into a cgroup; it stays where it is when that is refused."""
    if path:
        put(path, "cgroup.procs", os.getpid())


def kills(path: str) -> int:
    """How many processes of a cgroup the kernel killed for want of memory, its own or the whole node's."""
    text = read(os.path.join(path, "memory.events")) + read(os.path.join(path, "memory.oom_control"))
    return sum(map(int, re.findall(r"^oom_kill (\d+)$", text, re.MULTILINE)))


def reached(path: str) -> bool:
    """Whether a cgroup came to its own limit (Documentation/admin-guide/cgroup-v2.rst, memory.events: oom; v1: memory.failcnt)."""
    failed = read(os.path.join(path, "memory.failcnt")).strip() or "0"
    return failed != "0" or bool(re.search(r"^oom [1-9]", read(os.path.join(path, "memory.events")), re.MULTILINE))


def remove(paths: Iterable[str]) -> None:
    """Remove cgroups whose processes have ended."""
    for path in paths:
        for _ in range(20):
            try:
                os.rmdir(path)
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)
                continue
            break
