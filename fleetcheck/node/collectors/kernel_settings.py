"""Runs on the node: the kernel's settings that the profile names, and how many tasks there are of how many."""

import re
from typing import Any, Dict

from fleetcheck.node.collectors.values import number, text
from fleetcheck.node.host import Host

READS = (
    ("/proc/sys", "any user"),
    ("/proc/loadavg", "any user"),
)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{sysctls: {name: text}, tasks: {open, limit}}."""
    return {
        "sysctls": {name: sysctl(host, name) for name in settings.get("sysctls", ())},
        "tasks": {"open": tasks(host), "limit": task_limit(host)},
    }


def sysctl(host: Host, name: str) -> Any:
    """A setting as one line; its dots are folders."""
    said = text(host, "/proc/sys/" + name.replace(".", "/"))
    return said if isinstance(said, dict) else " ".join(said.split())


def tasks(host: Host) -> Any:
    """Threads of the whole machine: proc(5), fourth field of /proc/loadavg."""
    said = text(host, "/proc/loadavg")
    if isinstance(said, dict):
        return said
    found = re.match(r"(?:\S+ ){3}\d+/(\d{1,9}) \d+$", said)
    return int(found.group(1)) if found else {"absent": "no count of tasks: /proc/loadavg: %.60r" % said}


def task_limit(host: Host) -> Any:
    """The lower of pid_max and threads-max."""
    limits = [number(host, "/proc/sys/kernel/" + name) for name in ("pid_max", "threads-max")]
    gaps = [each for each in limits if isinstance(each, dict)]
    return gaps[0] if gaps else min(limits) if min(limits) > 0 else {"absent": "no limit of tasks: %r" % limits}
