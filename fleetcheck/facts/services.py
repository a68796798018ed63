"""systemd units of the node. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from fleetcheck.asked import words
from fleetcheck.facts.growth import noted
from fleetcheck.facts.named import listed, named, those
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern
from fleetcheck.view import Parts, Reading, View

RUNNING = ("active", "reloading", "refreshing")
BACKGROUND = ("nvidia-persistenced", "nvidia-dcgm", "slurmd", "munge")
"""Well-known services that must run where they are enabled; others have checks of their own."""
UNLIMITED = (1 << 64) - 1
STARTING_JOBS = ("slurmd", "containerd", "docker")
OWN_CHECKS = ("nvidia-fabricmanager", "nvidia-imex", "containerd", "docker", "dcgm-exporter", "node_exporter", *BACKGROUND)


class Unit(View):
    """One unit."""

    __slots__ = ()
    active = Reading(str)
    load = Reading(str)
    enabled = Reading(str)
    restarts = Reading(int)

    @property
    def is_installed(self) -> bool:
        """Whether systemd knows it."""
        return self.load == "loaded"

    @property
    def is_enabled(self) -> bool:
        """Whether it starts at boot."""
        return self.is_installed and self.enabled in ("enabled", "enabled-runtime", "linked", "alias")

    @property
    def down(self) -> Concern | None:
        """What it is instead of active."""
        state = self.active
        return None if state in RUNNING else Concern(f"is {state}, not active")

    def may(self, key: str) -> int:
        """A resource limit of what it starts; the kernel's RLIM_INFINITY for none."""
        most: int = self.get(key, int)
        return noted(f"{self.where}.{key}", UNLIMITED if most == -1 else most, self.part)


class Services(View):
    """All units that were asked about."""

    __slots__ = ("profile",)

    def __init__(self, data: Mapping[str, Any], profile: Profile) -> None:
        super().__init__(data, "services")
        self.profile = profile

    def unit(self, name: str) -> Unit:
        """One unit."""
        return named(Unit, self.raw, "units", name, "service")

    @property
    def expected(self) -> Parts[Unit]:
        """What the profile names, and the well-known ones that are enabled."""
        promised = words(self.profile.services.active if self.profile.services else None)
        names = dict.fromkeys([*promised, *BACKGROUND])
        return those([self.unit(name) for name in names], lambda unit: (unit.part and unit.part.slot in promised) or unit.is_enabled,
                     "services", "none of the services asked about is enabled here")

    @property
    def starting_jobs(self) -> Parts[Unit]:
        """The enabled services whose limits jobs inherit."""
        return those([self.unit(name) for name in STARTING_JOBS], lambda unit: unit.is_enabled, "services", "no service here starts jobs")

    @property
    def failed(self) -> list[str]:
        """Failed units nobody expects to fail; those with a check of their own are left to it."""
        ignored = words(self.profile.services.ignored_failed if self.profile.services else None)
        return noted("services.failed", [name for name in listed(self, "failed", str) if not _ignored(name, ignored)])


def _ignored(name: str, patterns: list[str]) -> bool:
    bare = name.removesuffix(".service")
    return bare in OWN_CHECKS or any(fnmatchcase(name, pattern) or fnmatchcase(bare, pattern) for pattern in patterns)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Services:
    """The units as told by the node."""
    return Services(data, profile)
