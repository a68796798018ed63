"""The small file written to the node's scratch path. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.view import Reading, View


class Scratch(View):
    """error: what the file system said, hung_at: the step that never returned; empty when all went well."""

    __slots__ = ()
    scratch = Reading(str)
    error = Reading(str)
    hung_at = Reading(str)

    @property
    def total_seconds(self) -> float:
        """Of all steps together; NotMeasured when a step did not end well: that is a finding of its own."""
        if self.error or self.hung_at:
            raise NotMeasured(f"not every step was done: {self.error or 'hung at ' + self.hung_at}")
        seconds: float = self.get("total_seconds", float)
        return seconds


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Scratch:
    """The probe as told by the node; skips where the inventory declares no scratch path."""
    if not node.scratch:
        pytest.skip("the inventory declares no scratch path for this node")
    return Scratch(data, "scratch")
