"""What runs the NVLink fabric on the node: fabric manager, IMEX. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.view import Reading, View


class Fabric(View):
    """topology_errors: lines of fabric manager's log since its last start. imex: the state IMEX tells, READY when all is well."""

    __slots__ = ()
    manager_version = Reading(str)
    topology_errors = Reading(list)
    imex = Reading(str)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Fabric:
    """The fabric's programs as told by the node."""
    return Fabric(data, "fabric")
