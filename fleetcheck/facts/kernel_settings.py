"""Settings of the kernel against the profile's, and how many tasks are left. Runs on the controller."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.asked import words
from fleetcheck.bound import Bound, Choice
from fleetcheck.facts.growth import measured
from fleetcheck.facts.named import Setting
from fleetcheck.facts.named import settings as settings_of
from fleetcheck.facts.system import Share, System
from fleetcheck.inventory import Node
from fleetcheck.profile import KernelProfile, Profile
from fleetcheck.recording import Concern
from fleetcheck.view import Nested, Parts, View


class KernelSettings(View):
    """Settings and tasks."""

    __slots__ = ("profile",)
    tasks = Nested(Share)

    def __init__(self, data: Mapping[str, Any], profile: Profile) -> None:
        super().__init__(data, "kernel")
        self.profile = profile

    @property
    def sysctls(self) -> Parts[Setting]:
        """The settings the profile names; skips where it names none."""
        names = promised(self.profile).sysctls
        if not names:
            pytest.skip(f"profile {self.profile.name} names no sysctl")
        return Parts(list(settings_of(self.raw, "sysctls", names, "sysctl").values()), "sysctls", len(names))

    def differs(self, setting: Setting) -> Concern | None:
        """What a setting is instead of what the profile says."""
        expected = promised(self.profile).sysctls[setting.part.slot if setting.part else ""]
        value = setting.value
        return None if _value(value, expected) in expected else Concern(f"is {value} (limit {expected})")


def _value(text: Any, expected: Bound | Choice) -> Any:
    """The text as what it is compared with."""
    if isinstance(expected, Choice) or not isinstance(text, str):
        return text
    try:
        number = float(text)
    except ValueError:
        raise NotMeasured(f"{text!r:.40} is not a number") from None
    return number if math.isfinite(number) else text


def promised(profile: Profile) -> KernelProfile:
    """The profile's section; skips where there is none."""
    if profile.kernel is None:
        pytest.skip(f"profile {profile.name} says nothing of kernel settings")
    return profile.kernel


def missing_words(system: System, profile: Profile) -> list[str]:
    """Words of the command line that the profile asks for and the kernel did not get."""
    wanted = words(promised(profile).command_line)
    if not wanted:
        pytest.skip(f"profile {profile.name} asks for no word of the kernel's command line")
    return [word for word in wanted if word not in told(system)]


def refused_words(system: System, profile: Profile) -> list[str]:
    """Words of the command line that the profile refuses."""
    refused = words(promised(profile).refused_words)
    if not refused:
        pytest.skip(f"profile {profile.name} refuses no word of the kernel's command line")
    return [word for word in refused if word in told(system)]


def told(system: System) -> list[str]:
    """The command line's words; a kernel always has some."""
    line = measured(system.command_line).split()
    if not line:
        raise NotMeasured("the kernel's command line is empty")
    return line


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> KernelSettings:
    """The settings as told by the node."""
    return KernelSettings(data, profile)
