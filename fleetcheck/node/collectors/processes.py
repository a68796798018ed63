"""Runs on the node: processes by state, and the jobs they belong to. No arguments or environments of anybody's processes leave the node."""

import os
import re
import time
from typing import Any, Dict, List, NamedTuple, Optional, Set

from fleetcheck.node.host import Host, absent

READS = (
    ("/proc/[0-9]*/stat", "any user"),
    ("/proc/[0-9]*/status", "any user"),
    ("/proc/[0-9]*/cgroup", "any user"),
)

KERNEL_THREAD = 0x00200000  # PF_KTHREAD
APART_SECONDS = 1.0
NAMED = 20
STEP = re.compile(r"slurmstepd: \[([\w.]+)\]")
JOB = re.compile(r"(?:^|/)job_(\d+)(?:/|$)", re.MULTILINE)


class Process(NamedTuple):
    """One process as /proc/PID/stat shows it; started_seconds: after boot."""

    pid: int
    name: str
    state: str
    flags: int
    started_seconds: float


def collect(host: Host) -> Dict[str, Any]:
    """{count, zombies, stuck, jobs}: stuck are those in uninterruptible sleep in both of two looks without a context switch between."""
    try:
        pids = [name for name in host.list("/proc") if name.isdigit()]
        now = float(host.read("/proc/uptime").split()[0])
    except (OSError, ValueError, IndexError) as error:
        gap = absent(error) if isinstance(error, OSError) else {"absent": "not a number: /proc/uptime"}
        return {"count": gap, "zombies": gap, "stuck": gap, "jobs": gap}
    found = [process for process in (look(host, pid) for pid in pids) if process]
    return {
        "count": len(found),
        "zombies": [told(process, now) for process in found if process.state == "Z"][:NAMED],
        "stuck": [told(process, now) for process in stuck(host, found)][:NAMED],
        "jobs": sorted(jobs(host, found)),
    }


def look(host: Host, pid: str) -> Optional[Process]:
    """One process, or None when it has ended meanwhile."""
    try:
        return parse(host.read("/proc/%s/stat" % pid))
    except (OSError, ValueError, IndexError):
        return None


def parse(stat: str) -> Process:
    """proc(5): the name in parentheses may itself hold any character."""
    pid, _, rest = stat.partition(" (")
    name, _, rest = rest.rpartition(") ")
    words = rest.split()
    return Process(int(pid), name, words[0], int(words[6]), int(words[19]) / os.sysconf("SC_CLK_TCK"))


def told(process: Process, now: float) -> Dict[str, Any]:
    """What leaves the node of a process."""
    return {
        "pid": process.pid,
        "name": process.name,
        "state": process.state,
        "age_seconds": now - process.started_seconds,
    }


def stuck(host: Host, found: List[Process]) -> List[Process]:
    """User processes that do not leave uninterruptible sleep; a busy one leaves it many times a second."""
    waiting = {
        process.pid: switches(host, process.pid)
        for process in found
        if process.state == "D" and not process.flags & KERNEL_THREAD
    }
    if waiting:
        time.sleep(APART_SECONDS)
    again = [look(host, str(pid)) for pid in waiting]
    return [
        process
        for process in again
        if process and process.state == "D" and switches(host, process.pid) == waiting[process.pid]
    ]


def switches(host: Host, pid: int) -> List[str]:
    """The context switch counts of a process."""
    status = host.read_or_absent("/proc/%d/status" % pid)
    return [] if isinstance(status, dict) else re.findall(r"ctxt_switches:\s*(\d+)", status)


def jobs(host: Host, found: List[Process]) -> Set[str]:
    """Slurm job numbers: of step daemons, which name their step, and of control groups."""
    ids: Set[str] = set()
    for process in found:
        if process.name.startswith("slurmstepd"):
            ids.update(step.partition(".")[0] for step in STEP.findall(said(host, process.pid, "cmdline")))
        if not process.flags & KERNEL_THREAD:
            ids.update(JOB.findall(said(host, process.pid, "cgroup")))
    return {"slurm " + job for job in ids if job != "infinity"}


def said(host: Host, pid: int, name: str) -> str:
    """A file of a process, empty when it cannot be read."""
    text = host.read_or_absent("/proc/%d/%s" % (pid, name))
    return "" if isinstance(text, dict) else text.replace("\0", " ")
