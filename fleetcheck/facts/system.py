"""Who a node is, since when it is up, and what runs on it. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent
from fleetcheck.facts.growth import noted
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Part
from fleetcheck.view import Nested, Parts, Reading, View

HIDING = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "LD_PRELOAD")
"""Variables that change every job of a node when its login environment sets them."""


class Process(View):
    """A process: its name and state, never its arguments."""

    __slots__ = ()
    name = Reading(str)
    age_seconds = Reading(float)


class Load(View):
    """Load averages."""

    __slots__ = ()
    fifteen_minutes = Reading(float)


class Share(View):
    """How much of a limit of the machine is in use."""

    __slots__ = ()
    open = Reading(int)
    limit = Reading(int)

    @property
    def percent(self) -> float:
        """Of the limit."""
        return noted(f"{self.where}.percent", 100 * self.open / self.limit)


class System(View):
    """The machine as a whole."""

    __slots__ = ("profile",)
    hostname = Reading(str)
    serial = Reading(str)
    boot_id = Reading(str)
    uptime_seconds = Reading(float)
    boot_time_seconds = Reading(int)
    os_image = Reading(str)
    architecture = Reading(str)
    command_line = Reading(str)
    load = Nested(Load)
    file_handles = Nested(Share)

    def __init__(self, raw: object, profile: Profile) -> None:
        super().__init__(raw, "system")
        self.profile = profile

    @property
    def kernel(self) -> str:
        """The running kernel. The firmware below it is noted too: no profile names it, but the fleet's nodes are compared by it."""
        View(self.raw.get("machine") if isinstance(self.raw, Mapping) else self.raw, "system.machine").get("bios_version", str)
        kernel: str = self.get("kernel", str)
        return kernel

    @property
    def busy(self) -> list[str]:
        """The jobs on the node: ``slurm 123``."""
        jobs: list[str] = self.get("busy", list)
        return jobs

    @property
    def modules(self) -> list[str]:
        """Loaded kernel modules, with _ for -."""
        modules: list[str] = self.get("modules", list)
        return modules

    @property
    def missing_modules(self) -> list[str]:
        """Modules the profile requires (``choices.required_modules``) that are not loaded."""
        required = self.profile.choices.get("required_modules")
        if required is None:
            pytest.skip(f"profile {self.profile.name} requires no kernel modules")
        loaded = self.modules
        return noted("system.missing_modules", [name for name in required.allowed if name not in loaded])

    @property
    def gpu_variables(self) -> list[str]:
        """Variables set for every login that hide GPUs from jobs or change how they run."""
        return [name for name in self.get("environment_names", list) if name in HIDING]

    def stuck(self) -> Parts[Process]:
        """Processes that stay in uninterruptible sleep."""
        return self._processes("stuck")

    def zombies(self) -> Parts[Process]:
        """Processes that ended and were not waited for."""
        return self._processes("zombies")

    def _processes(self, kind: str) -> Parts[Process]:
        known = View(self.raw.get("processes") if isinstance(self.raw, Mapping) else self.raw, "system.processes")
        listed, count = known.get(kind, list), known.get("count", int)
        gaps = [value.reason for value in (listed, count) if isinstance(value, Absent)]
        views = [] if gaps else [Process(each, "process", _process_part(each)) for each in listed]
        return Parts(views, f"{kind} processes", unreadable=gaps or ([] if count else ["no process was seen"]))


def _process_part(each: Any) -> Part | None:
    pid = each.get("pid") if isinstance(each, Mapping) else None
    return Part("process", f"process {pid} ({each.get('name')})", str(pid)) if pid is not None else None


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> System:
    """The machine as told by the node."""
    return System(data, profile)
