"""View of the processes on one GPU. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.facts.section import Section
from fleetcheck.recording import Concern
from fleetcheck.view import Reading

DAEMONS = frozenset({"nvidia-cuda-mps-server", "nvidia-cuda-mps", "nvidia-persiste", "dcgm", "nv-hostengine", "dcgm-exporter", "dcgmproftester"})
"""Services that hold a context by design, by the first 15 letters of their name as /proc shows it."""


class Process(Section):
    """One process."""

    pid = Reading(int)
    uid = Reading(int)
    name = Reading(str)
    job = Reading(str)

    @property
    def is_service(self) -> bool:
        """Root's own services (MPS, DCGM, exporters)."""
        return self.uid == 0 or self.name in DAEMONS

    @property
    def shown(self) -> str:
        """``python3 (pid 4711, uid 1000)``; a process that /proc does not show is a pid only."""
        name, uid = self.name, self.uid
        return f"pid {self.pid}" if isinstance(name, Absent) or isinstance(uid, Absent) else f"{name} (pid {self.pid}, uid {uid})"


class Processes:
    """All processes on one GPU."""

    def __init__(self, listed: Any, gpu: Section) -> None:
        """``listed``: the raw list, or Absent."""
        self.listed = listed
        self.gpu = gpu

    @property
    def all(self) -> list[Process]:
        """One view each; raises NotMeasured when the list was not told."""
        return [Process(raw if isinstance(raw, Mapping) else None, "gpu.process", self.gpu.part) for raw in self.listed]

    def outside_jobs(self) -> Concern | bool:
        """Processes of users that no scheduler started; raises NotMeasured when an owner is not known."""
        stray = [process.shown for process in self.all if not process.is_service and process.job == ""]
        return bool(stray) and Concern(f"in use outside any job by {', '.join(stray)}")

    def holding(self, used_bytes: Any, idle: Any) -> Concern | bool:
        """Memory held, above what is idle, while no process of a job is there."""
        if used_bytes in idle or any(_in_a_job(process) for process in self.all):
            return False
        holders = ", ".join(process.shown for process in self.all) or "no visible process"
        return Concern(f"{used_bytes / 2**30:.1f} GiB held outside any job (limit {idle.high / 2**30:.1f} GiB) by {holders}")


def _in_a_job(process: Process) -> bool:
    job = process.job
    return not isinstance(job, Absent) and job != ""
