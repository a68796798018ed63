"""Whether a node was tried with others at all. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.nodes import Node
from fleetcheck.profile import Profile


def entry(data: Mapping[str, Any], profile: Profile, node: Node) -> bool:
    """True; skips the check of a node that has no other of its kind."""
    if data.get("entered") is not True:
        pytest.skip(f"{node.name} is the only selected node of profile {profile.name}: there is nobody to try it with")
    return True
