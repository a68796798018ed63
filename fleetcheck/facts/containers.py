"""Container runtimes, and the GPUs they and Kubernetes hand out. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent
from fleetcheck.asked import words
from fleetcheck.facts.named import listed, named, those
from fleetcheck.facts.services import RUNNING, Services
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern
from fleetcheck.view import Nested, Parts, Reading, View

DAEMONS = ("docker", "containerd")


class Runtime(View):
    """One runtime: its unit's state (none: it has no daemon), and what came of asking it."""

    __slots__ = ()
    unit = Reading(str)
    state = Reading(str)
    said = Reading(str)

    @property
    def trouble(self) -> Concern | None:
        """Why it can start nothing. A daemon that is not running needs no asking."""
        unit = self.unit
        if unit not in (*RUNNING, "none"):
            return Concern(f"its service is {unit}, not active")
        return None if self.state == "up" else Concern(f"is {self.state}: {self.said}")


class Allotment(View):
    """What the API server counts."""

    __slots__ = ()
    installed = Reading(bool)
    capacity = Reading(int)
    allocatable = Reading(int)

    @property
    def withheld(self) -> int:
        """GPUs that the device plugin holds back."""
        held: int = self.capacity - self.allocatable
        return held


class Containers(View):
    """The runtimes of a node."""

    __slots__ = ("profile",)
    kubernetes = Nested(Allotment)

    def __init__(self, data: Mapping[str, Any], profile: Profile) -> None:
        super().__init__(data, "containers")
        self.profile = profile

    def runtimes(self, services: Services) -> Parts[Runtime]:
        """Those the profile lists, else the daemons that are enabled on the node."""
        listed = words(self.profile.containers.runtimes if self.profile.containers else None)
        if listed:
            return Parts([self.runtime(name) for name in listed], "container runtimes", len(listed))
        return those([self.runtime(name) for name in DAEMONS], lambda runtime: services.unit(runtime.part.slot).is_enabled,  # type: ignore[union-attr]
                     "container runtimes", "no container runtime is enabled here, and the profile lists none")

    def runtime(self, name: str) -> Runtime:
        """One runtime."""
        return named(Runtime, self.raw, "runtimes", name, "runtime")

    @property
    def without_gpus(self) -> str:
        """Why no container gets a GPU: docker knows no runtime for them, and no device is described to it (CDI)."""
        if "nvidia" in listed(self, "docker_runtimes", str):
            return ""
        devices = self.get("cdi_devices", list)
        if isinstance(devices, Absent) and "program not found" in devices.reason:
            return "docker knows no nvidia runtime, and nvidia-ctk is not installed"
        return "" if listed(self, "cdi_devices", str) else "docker knows no nvidia runtime, and nvidia-ctk describes no GPU"

    @property
    def allotment(self) -> Allotment:
        """What Kubernetes counts; skips on a node that is none of its."""
        expected = self.profile.containers is not None and self.profile.containers.kubernetes
        if not expected and not self.kubernetes.installed:
            pytest.skip("this is no Kubernetes node")
        return self.kubernetes


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Containers:
    """The runtimes as told by the node."""
    return Containers(data, profile)
