"""Runs on the node: a program started so that it outlives the connection: a systemd unit, or a session of its own."""

import os
import re
import signal
import sys
from typing import Dict, List

from fleetcheck.node.host import Host

UNIT = "fleetcheck-%s"
HANDED_ON = re.compile(r"(FLEETCHECK_\w+|PATH|HOME|LD_LIBRARY_PATH|LD_PRELOAD|LANG|TMPDIR|CUDA_\w+|NVIDIA_\w+)$")
SYSTEMD_SECONDS = 20.0
SPARE_BYTES = 2 << 30
LATE_SECONDS = 90


def start(host: Host, name: str, argv: List[str], seconds: float, log: str) -> Dict[str, str]:
    """Start argv detached: {how, unit, note}; note says why it is no unit where systemd rules."""
    if not host.exists("/run/systemd/system") or os.geteuid() != 0:
        by_session(argv, log)
        return {"how": "session", "unit": "", "note": killed_at_logout(host)}
    refused = ""
    for properties in (["OOMPolicy=continue", "Delegate=yes"], ["Delegate=yes"]):
        refused = by_unit(host, name, properties + limits(host, seconds), argv)
        if not refused:
            return {"how": "systemd-run", "unit": UNIT % name, "note": ""}
    by_session(argv, log)
    return {"how": "session", "unit": "", "note": "systemd-run refused: %s" % refused}


def limits(host: Host, seconds: float) -> List[str]:
    """What the kernel and systemd hold the unit to, whatever becomes of its own deadline."""
    return ["RuntimeMaxSec=%d" % (seconds + LATE_SECONDS), "MemoryMax=%d" % memory_limit(host), "KillMode=control-group",
            "TimeoutStopSec=10"]


def memory_limit(host: Host) -> int:
    """All memory but 3 % or 2 GiB, whichever is more, in bytes."""
    try:
        total = int(re.findall(r"^MemTotal: +(\d+) kB", host.read("/proc/meminfo"), re.MULTILINE)[0]) * 1024
    except (OSError, IndexError):
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(total - max(total * 3 // 100, SPARE_BYTES), total // 2)


def by_unit(host: Host, name: str, properties: List[str], argv: List[str]) -> str:
    """Start argv as a transient unit; "" or why that was refused."""
    environment = ["--setenv=%s=%s" % (key, value) for key, value in sorted(os.environ.items()) if HANDED_ON.match(key)]
    command = ["systemd-run", "--unit=" + UNIT % name, "--description=fleetcheck load " + name]
    command += ["--property=" + each for each in properties] + environment + ["--"] + argv
    try:
        done = host.run(command, SYSTEMD_SECONDS)
    except OSError as error:
        return error.strerror or str(error)
    return "" if done.status == 0 else (done.stderr.strip() or "exit status %d" % done.status)[-300:]


def end_unit(host: Host, unit: str) -> str:
    """Stop a unit and forget it; "" or why that failed."""
    try:
        done = host.run(["systemctl", "stop", unit], SYSTEMD_SECONDS)
        host.run(["systemctl", "reset-failed", unit], SYSTEMD_SECONDS)
    except OSError as error:
        return "systemctl stop %s: %s" % (unit, error.strerror or error)
    unknown = "not loaded" in done.stderr
    return "" if done.status == 0 or unknown else "systemctl stop %s: %s" % (unit, done.stderr.strip()[-200:])


def by_session(argv: List[str], log: str) -> None:
    """Start argv as a grandchild in a session of its own; its streams go to ``log``."""
    pid = os.fork()
    if pid == 0:
        try:
            if os.fork() == 0:
                become(argv, log)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def become(argv: List[str], log: str) -> None:
    """Turn this process into argv; returns only when that failed."""
    os.setsid()
    os.chdir("/")
    os.umask(0o077)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.closerange(3, 1024)
    os.execv(argv[0], argv)


def killed_at_logout(host: Host) -> str:
    """A warning where logind ends a user's processes with the last session (logind.conf(5)); else ""."""
    files = ["/etc/systemd/logind.conf"] + host.glob("/etc/systemd/logind.conf.d/*.conf")
    said = "".join(str(host.read_or_absent(path)) + "\n" for path in files)
    if not re.search(r"^\s*KillUserProcesses\s*=\s*(yes|true|on|1)\s*$", said, re.MULTILINE | re.IGNORECASE):
        return ""
    return "logind ends processes at logout here (KillUserProcesses=yes); use become: sudo -n, or loginctl enable-linger"


def python(code: str, *arguments: str) -> List[str]:
    """This interpreter with code to run, apart from the user's own packages and settings."""
    return [os.path.realpath("/proc/self/exe") if not sys.executable else sys.executable, "-IBSc", code] + list(arguments)
