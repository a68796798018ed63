"""Who computes on a GPU: pids from NVML, owners from /proc; never arguments or environments (node side)."""

import re
from typing import Any, Dict, List

import pynvml as n

from fleetcheck.node.collectors.nvml_call import Nvml, absent, is_absent
from fleetcheck.node.host import Host

READS = (
    ("/proc/[0-9]*/status", "any user"),
    ("/proc/[0-9]*/cgroup", "any user"),
)

JOB = re.compile(r"job_(\d+)|pod([0-9a-f]{8}[-_][0-9a-f-_]{27})|/(?:pbs_jobs.*|pbspro.*)/(\d+)|/lsf/[^/]+/job\.(\d+)")


def processes(nvml: Nvml, handle: Any, host: Host) -> Any:
    """Compute and graphics processes of one GPU, each with its owner."""
    listed: List[Any] = []
    for kind, function, older in (
            ("compute", n.nvmlDeviceGetComputeRunningProcesses_v3, n.nvmlDeviceGetComputeRunningProcesses_v2),
            ("graphics", n.nvmlDeviceGetGraphicsRunningProcesses_v3, n.nvmlDeviceGetGraphicsRunningProcesses_v2)):
        found = nvml.ask(function, handle)
        if found == absent("FUNCTION_NOT_FOUND"):
            found = nvml.ask(older, handle)
        if is_absent(found):
            return found
        listed.extend(process(kind, entry, host) for entry in found)
    return listed


def process(kind: str, entry: Any, host: Host) -> Dict[str, Any]:
    """One process: its memory as NVML tells it, its owner as /proc does."""
    memory = absent("NOT_AVAILABLE") if entry.usedGpuMemory is None else entry.usedGpuMemory
    leaves = {"kind": kind, "pid": entry.pid, "memory_bytes": memory}
    leaves.update(owner(entry.pid, host))
    return leaves


def owner(pid: int, host: Host) -> Dict[str, Any]:
    """uid, short name, state and scheduler job of a process; "" is no job."""
    status = host.read_or_absent("/proc/%d/status" % pid)
    cgroup = host.read_or_absent("/proc/%d/cgroup" % pid)
    return {
        "uid": status_field(status, "Uid", int),
        "name": status_field(status, "Name", str),
        "state": status_field(status, "State", str),
        "job": cgroup if is_absent(cgroup) else job_of(str(cgroup)),
    }


def status_field(status: Any, name: str, kind: Any) -> Any:
    """The first word after a name in /proc/PID/status."""
    if is_absent(status):
        return status
    match = re.search(r"^%s:\s*(\S+)" % name, status, re.MULTILINE)
    try:
        return kind(match.group(1)) if match else absent("no %s in status" % name)
    except ValueError:
        return absent("%s is %r" % (name, match and match.group(1)))


def job_of(cgroup: str) -> str:
    """The Slurm, Kubernetes, PBS or LSF job in the text of /proc/PID/cgroup.

    >>> job_of("0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0")
    '4711'
    >>> job_of("0::/user.slice/user-1000.slice/session-3.scope")
    ''
    """
    match = JOB.search(cgroup)
    return next(group for group in match.groups() if group) if match else ""
