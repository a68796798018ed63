"""What runs the NVLink fabric on the node: fabric manager, IMEX. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.facts.named import listed
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.view import Reading, View


class Fabric(View):
    """imex: the state IMEX tells, READY when all is well."""

    __slots__ = ()
    manager_version = Reading(str)
    imex = Reading(str)

    @property
    def topology_errors(self) -> list[str]:
        """Lines of fabric manager's log since its last start that say it knows no such topology."""
        return listed(self, "topology_errors", str)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Fabric:
    """The fabric's programs as told by the node."""
    return Fabric(data, "fabric")
