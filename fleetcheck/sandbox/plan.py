"""From an inventory's ``sandbox:`` section to what every node is: profile, merged overrides, reachability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ClusterShell.NodeSet import NodeSet, NodeSetException
from pydantic import ValidationError

from fleetcheck.inventory import Inventory, Node
from fleetcheck.profile import Profile
from fleetcheck.sandbox import faults
from fleetcheck.sandbox.description import FaultDescription, NodeDescription, Overrides, SandboxDescription
from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.located import close_to, first_problem, located

Faults = Mapping[str, FaultDescription]


@dataclass(frozen=True)
class Planned:
    """One simulated node. number: its place in the inventory, from 1; where: the description's place, for messages."""

    node: Node
    number: int
    profile: Profile
    overrides: Overrides
    unreachable: str = ""
    busy: str = ""
    where: str = ""


def plan(inventory: Inventory) -> list[Planned]:
    """Every node of the inventory as the sandbox shall simulate it; raises SandboxError with file and line."""
    description = described(inventory)
    known = faults.shipped()
    spoken = _by_node(inventory, description)
    return [
        _planned(inventory, node, number, description.profile, spoken.get(node.name, []), known)
        for number, node in enumerate(inventory.nodes, 1)
    ]


def described(inventory: Inventory) -> SandboxDescription:
    """The validated ``sandbox:`` section."""
    try:
        return SandboxDescription.model_validate(inventory.sandbox or {})
    except ValidationError as refused:
        path, problem = first_problem(refused, SandboxDescription)
        raise _refusal(inventory, path, problem) from refused


def _by_node(inventory: Inventory, description: SandboxDescription) -> dict[str, list[tuple[str, NodeDescription]]]:
    """Node name → its entries (key as written, description) in the order of the file, ranges unfolded."""
    names = {node.name for node in inventory.nodes}
    spoken: dict[str, list[tuple[str, NodeDescription]]] = {}
    for key, entry in description.nodes.items():
        for name in _unfolded(inventory, key):
            if name not in names:
                raise _refusal(inventory, ("nodes", key), f"{name!r} is no node of the inventory{close_to(name, names)}")
            spoken.setdefault(name, []).append((key, entry or NodeDescription()))
    return spoken


def _unfolded(inventory: Inventory, key: str) -> list[str]:
    try:
        return list(NodeSet(key))
    except NodeSetException as problem:
        raise _refusal(inventory, ("nodes", key), f"no range of node names: {problem}") from problem


def _planned(
    inventory: Inventory, node: Node, number: int, profile: str, entries: list[tuple[str, NodeDescription]], known: Faults
) -> Planned:
    overrides, unreachable, busy = Overrides(), "", ""
    for key, entry in entries:
        overrides = _with_faults(inventory, key, entry, overrides, known).then(entry)
        unreachable, busy = entry.unreachable or unreachable, entry.busy or busy
    hardware = _profile(inventory, profile or node.profile)
    where = str(inventory.path) if not entries else located(inventory.path, inventory.text, ("sandbox", "nodes", entries[-1][0]), "")
    return Planned(node, number, hardware, overrides, unreachable, busy, where.rstrip(": "))


def _with_faults(inventory: Inventory, key: str, entry: NodeDescription, overrides: Overrides, known: Faults) -> Overrides:
    for place, name in enumerate(entry.faults):
        try:
            overrides = overrides.then(faults.named(name, known))
        except ValueError as problem:
            raise _refusal(inventory, ("nodes", key, "faults", place), str(problem)) from problem
    return overrides


def _profile(inventory: Inventory, name: str) -> Profile:
    if name not in inventory.profiles:
        raise _refusal(inventory, ("profile",), f"no profile {name!r}{close_to(name, inventory.profiles)}")
    return inventory.profiles[name]


def _refusal(inventory: Inventory, path: tuple[str | int, ...], problem: str) -> SandboxError:
    return SandboxError(located(inventory.path, inventory.text, ("sandbox", *path), problem))
