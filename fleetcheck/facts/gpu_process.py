"""View of the processes on one GPU. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.bound import Bound
from fleetcheck.facts.section import Section
from fleetcheck.recording import Concern
from fleetcheck.view import Reading

DAEMONS = frozenset({"nvidia-cuda-mps", "nvidia-persiste", "nv-hostengine", "dcgm-exporter", "dcgmproftester"})
"""Services that hold a context by design, by the first 15 letters of their name as /proc shows it."""


class Process(Section):
    """One process."""

    pid = Reading(int)
    uid = Reading(int)
    name = Reading(str)
    job = Reading(str)
    memory_bytes = Reading(int)

    @property
    def is_service(self) -> bool:
        """Root's own services (MPS, DCGM, exporters)."""
        return self.uid == 0 or self.name in DAEMONS

    @property
    def is_in_a_job(self) -> bool:
        """Whether a scheduler started it; a process that /proc does not show is in none."""
        job = self.job
        return not isinstance(job, Absent) and job != ""

    def holds_more_than(self, idle: Bound) -> bool:
        """Whether its memory, where NVML tells it, is above what is idle."""
        held = self.memory_bytes
        return not isinstance(held, Absent) and held not in idle

    @property
    def shown(self) -> str:
        """``python3 (pid 4711, uid 1000)``; a process that /proc does not show is a pid only."""
        name, uid = self.name, self.uid
        known = not isinstance(name, Absent) and not isinstance(uid, Absent)
        return f"{name} (pid {self.pid}, uid {uid})" if known else f"pid {self.pid}"


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

    def holding(self, used_bytes: Any, idle: Bound) -> Concern | bool:
        """Memory held above what is idle: in all, while no process of a job is there, or by one outside of jobs."""
        outside = [process for process in self.all if not process.is_in_a_job]
        large = [process for process in outside if process.holds_more_than(idle)]
        if not large and (len(outside) < len(self.all) or used_bytes in idle):
            return False
        held = sum(process.memory_bytes for process in large) or used_bytes
        holders = ", ".join(process.shown for process in large or outside) or "no visible process"
        limit = (idle.high or 0) / 2**30
        return Concern(f"{held / 2**30:.1f} GiB held outside any job (limit {limit:.1f} GiB) by {holders}")
