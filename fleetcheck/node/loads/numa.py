"""Runs on the node: its NUMA nodes, and threads bound to the processors of one, so that memory they touch first lies there."""

import contextlib
import os
import re
from typing import Dict, Iterator, List, Set

FOLDER = "/sys/devices/system/node"
ANYWHERE = -1
"""Stands for a machine that tells of no NUMA nodes."""


def nodes(folder: str = FOLDER) -> Dict[int, Set[int]]:
    """Processors of each NUMA node that this process may use; nodes of memory alone, or of forbidden processors, are left out."""
    allowed = os.sched_getaffinity(0)
    found = {number: cpus(folder, number) & allowed for number in numbers(folder)}
    return {number: each for number, each in found.items() if each} or {ANYWHERE: set(allowed)}


def left_out(folder: str = FOLDER) -> List[int]:
    """NUMA nodes with processors of which this process may use none."""
    known = nodes(folder)
    return [number for number in numbers(folder) if cpus(folder, number) and number not in known]


def numbers(folder: str) -> List[int]:
    """The numbers of all NUMA nodes; none where the kernel tells of none."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(int(name[4:]) for name in names if re.match(r"node\d+$", name))


def cpus(folder: str, number: int) -> Set[int]:
    """The processors of a NUMA node."""
    try:
        with open("%s/node%d/cpulist" % (folder, number)) as file:
            return parsed(file.read())
    except (OSError, ValueError):
        return set()


def parsed(text: str) -> Set[int]:
    """A list of processors as the kernel writes it.

    >>> sorted(parsed("0-2,8"))
    [0, 1, 2, 8]
    """
    found = set()  # type: Set[int]
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first:
            found.update(range(int(first), int(last or first) + 1))
    return found


@contextlib.contextmanager
def bound(processors: Set[int]) -> Iterator[None]:
    """The calling thread on these processors alone, meanwhile."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def label(number: int) -> str:
    """``numa0``; ``host`` where no NUMA nodes are known."""
    return "host" if number == ANYWHERE else "numa%d" % number
