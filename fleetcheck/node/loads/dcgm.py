"""Runs on the node: the vendor's diagnostic, ``dcgmi diag``, under a deadline; what it prints is judged by the controller."""

import time
from typing import Any, Dict

from fleetcheck.node.host import Host, ProgramMissing, current_root
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Task

SCOPE = "node"
TORCH = False

LEVELS = ((1800.0, 3), (150.0, 2), (0.0, 1))
"""Seconds from which on a run level fits: about half an hour, two minutes and some seconds on eight GPUs."""
OUTPUT_BYTES = 2 << 20
NOT_INSTALLED = "not installed: dcgmi"
"""What the controller knows as: does not apply here."""


def run(task: Task) -> Dict[str, Any]:
    """Settings: level (1 to 3). One device, the diagnostic; ``output`` is all that it printed."""
    report = Report(task, 0)
    report.name = "dcgmi diag"
    level = int(task.number("level", next(level for least, level in LEVELS if task.seconds >= least), 1, 4))
    argv = ["dcgmi", "diag", "-r", str(level), "-j"]
    task.begin()
    told: Dict[str, Any] = {"output": "", "status": None, "level": level}
    try:
        done = Host(current_root()).run(argv, max(task.latest - time.monotonic(), 1.0), limit=OUTPUT_BYTES)
        told.update(output=done.stdout, status=done.status)
        if not done.stdout.strip():
            report.fail("%s ended with %d and printed nothing: %.300s" % (" ".join(argv), done.status, done.stderr.strip()))
    except ProgramMissing:
        report.fail(NOT_INSTALLED)
    except OSError as error:
        report.fail("%s: %s" % (" ".join(argv), error.strerror or error))
    entry = report.entry()
    return dict(told, devices=[entry], error=entry["error"])
