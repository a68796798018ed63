"""The node's torch environment and the sources of its packages. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.bound import Choice
from fleetcheck.facts.growth import noted
from fleetcheck.facts.named import listed
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.view import Reading, View


class TorchEnvironment(View):
    """Versions as torch itself tells them. nccl_required: what torch's package asks for, empty when it asks for none."""

    __slots__ = ("profile",)
    python = Reading(str)
    imports = Reading(bool)
    said = Reading(str)
    import_seconds = Reading(float)
    torch = Reading(str)
    cuda = Reading(str)
    nccl = Reading(str)
    plugin = Reading(str)

    def __init__(self, data: Mapping[str, Any], profile: Profile) -> None:
        super().__init__(data, "software")
        self.profile = profile

    @property
    def nccl_mismatch(self) -> str:
        """How the NCCL that is installed or loaded differs from the one torch asks for."""
        required = self.get("nccl_required", str)
        if required == "":
            pytest.skip("this build of torch brings its own NCCL and asks for no other")
        found = {"installed": self.get("nccl_installed", str), "loaded": self.nccl}
        wrong = [f"{version or 'none'} is {how}" for how, version in found.items() if version != required]
        return f"torch asks for NCCL {required}, {' and '.join(wrong)}" if wrong else ""

    def released(self, word: str) -> Choice:
        """The versions the profile allows; skips where it names none."""
        found = getattr(self.profile.software, word, None)
        if not isinstance(found, Choice):
            pytest.skip(f"profile {self.profile.name} names no version of {word}")
        return found


class Repositories(View):
    """Package repositories."""

    __slots__ = ("profile",)

    def __init__(self, data: Mapping[str, Any], profile: Profile) -> None:
        super().__init__(data, "packages")
        self.profile = profile

    @property
    def differences(self) -> list[str]:
        """Repositories that are missing or too many against the profile; skips where it lists none."""
        expected = self.profile.software.repositories if self.profile.software else None
        if expected is None:
            pytest.skip(f"profile {self.profile.name} lists no package repositories")
        found = set(listed(self, "repositories", str))
        extra, missing = found - set(expected.allowed), set(expected.allowed) - found
        words = [*(f"missing {name}" for name in sorted(missing)), *(f"unknown {name}" for name in sorted(extra))]
        return noted("packages.differences", words)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> TorchEnvironment:
    """The environment as told by the node; skips where the inventory names none."""
    if not node.torch_python:
        pytest.skip("the inventory names no torch_python for this node")
    return TorchEnvironment(data, profile)


def build_repositories(data: Mapping[str, Any], profile: Profile, node: Node) -> Repositories:
    """The sources of packages as told by the node."""
    return Repositories(data, profile)
