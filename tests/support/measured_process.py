"""Running a command and measuring what it cost: wall time, CPU time of it and its children, peak memory."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    status: int
    wall_seconds: float
    cpu_seconds: float
    peak_mbytes: float
    output: str


def measured(argv, cwd, env=None, timeout=1800) -> Cost:
    """The cost of one command, read from wait4; its output goes through a file so that a full pipe cannot stall it."""
    log = Path(cwd) / f"output-{time.monotonic_ns()}.txt"
    began = time.monotonic()
    with log.open("wb") as stream:
        process = subprocess.Popen(argv, cwd=cwd, env=env, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Cost(process.returncode, time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, log.read_text(errors="replace"))
