"""Runs on the node: who it is, since when, what it runs, and whether a job is on it."""

import re
from typing import Any, Dict, List, Set

from fleetcheck.node.collectors import processes
from fleetcheck.node.collectors.environment import ASSIGNED, login_files
from fleetcheck.node.collectors.values import names, output, text, uptime
from fleetcheck.node.host import Host, absent

READS = (
    ("/proc/sys/kernel", "any user"),
    ("/proc/uptime", "any user"),
    ("/proc/stat", "any user"),
    ("/proc/cmdline", "any user"),
    ("/proc/loadavg", "any user"),
    ("/proc/modules", "any user"),
    ("/proc/sys/fs/file-nr", "any user"),
    ("/proc/device-tree/serial-number", "any user"),
    ("/sys/class/dmi/id/*_serial", "root"),
    ("/sys/class/dmi/id/product_uuid", "root"),
    ("/sys/class/dmi/id", "any user"),
    ("/sys/devices/system/node", "any user"),
    ("/etc/os-release", "any user"),
    ("/usr/lib/os-release", "any user"),
    ("/etc/environment", "any user"),
    ("/etc/profile", "any user"),
    ("/etc/profile.d", "any user"),
    ("/etc/environment.d", "any user"),
    ("uname -m", "any user"),
)

VARIABLES = re.compile(ASSIGNED % "CUDA|NVIDIA|NCCL|LD_PRELOAD", re.MULTILINE)
DMI = (
    "product_name",
    "sys_vendor",
    "product_serial",
    "chassis_serial",
    "board_serial",
    "board_name",
    "bios_version",
    "product_uuid",
)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """Identity, boot, software and processes of the machine."""
    seen = processes.collect(host)
    return {
        "hostname": text(host, "/proc/sys/kernel/hostname"),
        "machine": {name: text(host, "/sys/class/dmi/id/" + name) for name in DMI},
        "serial": serial(host),
        "boot_id": text(host, "/proc/sys/kernel/random/boot_id"),
        "uptime_seconds": uptime(host),
        "boot_time_seconds": boot_time(host),
        "kernel": text(host, "/proc/sys/kernel/osrelease"),
        "os_image": os_image(host),
        "command_line": text(host, "/proc/cmdline"),
        "architecture": architecture(host),
        "load": load(host),
        "modules": modules(host),
        "environment_names": environment_names(host),
        "file_handles": file_handles(host),
        "pid_limit": first_number(host, "/proc/sys/kernel/pid_max"),
        "numa_nodes": names(host, "/sys/devices/system/node"),
        "processes": seen,
        "busy": seen.pop("jobs"),
    }


def serial(host: Host) -> Any:
    """The machine's serial: the product's, else the chassis's. Only root may read them; boards without a DMI table have none."""
    tried = []
    for path in (
        "/sys/class/dmi/id/product_serial",
        "/sys/class/dmi/id/chassis_serial",
        "/proc/device-tree/serial-number",
    ):
        found = text(host, path)
        if isinstance(found, str) and found.strip("\0 "):
            return found.strip("\0 ")
        tried.append(found["absent"] if isinstance(found, dict) else "empty: " + path)
    return {"absent": "; ".join(tried)}


def first_number(host: Host, path: str) -> Any:
    """The first word of a file as a number."""
    try:
        return float(host.read(path).split()[0])
    except OSError as error:
        return absent(error)
    except (ValueError, IndexError):
        return {"absent": "not a number: " + path}


def boot_time(host: Host) -> Any:
    """btime of /proc/stat, seconds since 1970."""
    try:
        found = re.search(r"^btime (\d+)$", host.read("/proc/stat", 8 << 20), re.MULTILINE)
    except OSError as error:
        return absent(error)
    return int(found.group(1)) if found else {"absent": "no btime in /proc/stat"}


def os_image(host: Host) -> Any:
    """PRETTY_NAME of os-release."""
    release = host.read_or_absent("/etc/os-release")
    if isinstance(release, dict):
        release = host.read_or_absent("/usr/lib/os-release")
    if isinstance(release, dict):
        return release
    found = re.search(r"^PRETTY_NAME=(?:\"([^\"]*)\"|'([^']*)'|(\S+))", release, re.MULTILINE)
    return next(filter(None, found.groups()), "") if found else {"absent": "no PRETTY_NAME in /etc/os-release"}


def architecture(host: Host) -> Any:
    """As ``uname -m``."""
    said = output(host, ["uname", "-m"], 5)
    return (
        said if "absent" in said else said["stdout"].strip() or {"absent": "uname -m said nothing: %s" % said["stderr"]}
    )


def load(host: Host) -> Any:
    """The three load averages."""
    said = host.read_or_absent("/proc/loadavg")
    if isinstance(said, dict):
        return said
    try:
        return dict(zip(("one_minute", "five_minutes", "fifteen_minutes"), [float(word) for word in said.split()[:3]]))
    except ValueError:
        return {"absent": "not load averages: %.60r" % said}


def modules(host: Host) -> Any:
    """Names of loaded kernel modules, with _ for -."""
    said = host.read_or_absent("/proc/modules", 4 << 20)
    if isinstance(said, dict):
        return said
    rows = re.findall(r"^(\w+) \d+ -?\d+ .*$", said, re.MULTILINE)
    lines = len([line for line in said.split("\n") if line.strip()])
    return sorted(rows) if rows and len(rows) == lines else {"absent": "%d of %d lines name a module: /proc/modules" % (len(rows), lines)}


def environment_names(host: Host) -> Any:
    """Which CUDA, NVIDIA and NCCL variables every login gets; names only. A missing file sets none."""
    found: Set[str] = set()
    for path in login_files(host):
        said = host.read_or_absent(path)
        if isinstance(said, dict):
            return said
        found.update(VARIABLES.findall(said))
    return sorted(found)


def file_handles(host: Host) -> Any:
    """Open and possible file handles of the whole machine."""
    words = host.read_or_absent("/proc/sys/fs/file-nr")
    if isinstance(words, dict):
        return words
    parts: List[str] = words.split()
    return (
        {"open": int(parts[0]), "limit": int(parts[2])}
        if len(parts) == 3 and "".join(parts).isdigit()
        else {"absent": "not three numbers: /proc/sys/fs/file-nr"}
    )
