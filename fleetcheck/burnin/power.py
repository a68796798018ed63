"""What loaded nodes draw, and how many of a rack its budget allows at once. Pure.

The capacity formula of the deployment guides: N accelerators, G of them in a node, need nodes = ceil(N / G) and draw
N · P_gpu + nodes · P_node.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fleetcheck.burnin.schedule import devices
from fleetcheck.inventory import Inventory, InventoryError, Node

JOULES_PER_KWH = 3.6e6


def nodes_for(accelerators: int, per_node: int) -> int:
    """Nodes that so many accelerators fill.

    >>> nodes_for(20, 8)
    3
    """
    return math.ceil(accelerators / per_node) if accelerators else 0


def watts(accelerators: int, per_node: int, gpu_watts: float, node_watts: float) -> float:
    """What so many accelerators draw under load, with the nodes around them.

    >>> watts(20, 8, 700, 2500)
    21500.0
    """
    return float(accelerators * gpu_watts + nodes_for(accelerators, per_node) * node_watts)


def of_node(inventory: Inventory, node: Node) -> float:
    """Watts of one node under full load; without node_watts in the inventory those of its accelerators alone."""
    profile = inventory.profiles[node.profile]
    count, rest = devices(node, profile), inventory.power.node_watts or 0.0
    if profile.gpu is None or not count:
        return rest
    limit = profile.gpu.power_limit_watts
    return watts(count, count, inventory.power.gpu_watts or limit.high or limit.low or 0.0, rest)


@dataclass(frozen=True)
class Draws:
    """Watts of each node under load, the rack it stands in, and each rack's budget in watts."""

    watts: Mapping[str, float]
    racks: Mapping[str, str]
    budgets: Mapping[str, float]

    def of(self, names: Iterable[str]) -> float:
        """Watts of these nodes together."""
        return sum(self.watts[name] for name in names)

    def in_rack(self, rack: str, names: Iterable[str]) -> list[str]:
        """Those of the nodes that stand in the rack."""
        return [name for name in names if self.racks[name] == rack]

    def fits(self, node: str, loaded: Iterable[str]) -> bool:
        """Whether its rack's budget allows a node beside those that are loaded."""
        rack = self.racks[node]
        return rack not in self.budgets or self.of([node, *self.in_rack(rack, loaded)]) <= self.budgets[rack]


def draws(inventory: Inventory, nodes: Sequence[Node]) -> Draws:
    """What these nodes draw and may draw. Raises InventoryError for a rack whose budget a single node exceeds."""
    found = Draws(
        {node.name: of_node(inventory, node) for node in nodes},
        {node.name: node.labels.get("rack", "") for node in nodes},
        {rack: each.watts for rack, each in inventory.power.racks.items()},
    )
    alone = next((name for name in found.watts if not found.fits(name, ())), "")
    if alone:
        rack = found.racks[alone]
        raise InventoryError(
            f"{inventory.where('power', 'racks', rack)}: {alone} alone draws {kilowatts(found.watts[alone])} under load, over the "
            f"budget of rack {rack}, {kilowatts(found.budgets[rack])}; expected a budget for one node at least")
    return found


def kilowatts(watts: float) -> str:
    """Watts for people.

    >>> kilowatts(8100)
    '8.1 kW'
    """
    return f"{watts / 1000:.1f} kW"


def energy_kwh(watts: float, seconds: float) -> float:
    """What so many watts use in that time."""
    return watts * seconds / JOULES_PER_KWH
