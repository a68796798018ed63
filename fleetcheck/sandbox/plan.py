"""From an inventory's ``sandbox:`` section to what every node is: profile, merged overrides, reachability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel, ValidationError

from fleetcheck import nodeset, profiles
from fleetcheck.cabled import End
from fleetcheck.complaints import complaint
from fleetcheck.inventory import Inventory, InventoryError, Node
from fleetcheck.profile import Profile
from fleetcheck.sandbox import faults, native
from fleetcheck.sandbox.description import (
    FaultDescription,
    NodeDescription,
    NvmlOverride,
    Overrides,
    SandboxDescription,
)
from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.spaces.link import Link
from fleetcheck.sandbox.spaces.plugged import plugged
from fleetcheck.yamlfile import Document, Keys

Faults = Mapping[str, FaultDescription]
Entries = list[tuple[str, NodeDescription]]


class Section(BaseModel):
    """The part of an inventory file that is ours."""

    sandbox: SandboxDescription


@dataclass(frozen=True)
class Planned:
    """One simulated node. number: its place in the inventory, from 1; where: FILE:LINE of what is said about it; link: none where
    nodes have no namespaces.
    """

    node: Node
    number: int
    profile: Profile
    overrides: Overrides
    unreachable: str = ""
    busy: str = ""
    where: str = ""
    link: Link | None = None
    cables: Mapping[str, End | None] = field(default_factory=dict)


def plan(inventory: Inventory) -> list[Planned]:
    """Every node of the inventory as the sandbox shall simulate it; raises SandboxError with file and line."""
    document = inventory.document or Document(inventory.path, inventory.text, {}, {(): 1})
    try:
        return _plan(inventory, document)
    except InventoryError as refused:
        raise SandboxError(str(refused)) from refused


def _plan(inventory: Inventory, document: Document) -> list[Planned]:
    """The same; raises InventoryError too, as everything that reads the file does."""
    description = _described(inventory, document)
    known = faults.shipped()
    spoken = _by_node(inventory, description, document)
    hardware = description.profile and _profile(inventory, description.profile)
    planned = [
        _planned(node, number, hardware or inventory.profiles[node.profile], spoken.get(node.name, []), known, document)
        for number, node in enumerate(inventory.nodes, 1)
    ]
    return plugged(planned, description, spoken, document)


def _described(inventory: Inventory, document: Document) -> SandboxDescription:
    try:
        return Section.model_validate({"sandbox": inventory.sandbox or {}}).sandbox
    except ValidationError as refused:
        raise complaint(refused, Section, [document]) from refused


def _profile(inventory: Inventory, name: str) -> Profile:
    """A profile of the inventory's, or one that only the sandbox names."""
    return inventory.profiles.get(name) or profiles.load_profile(name, inventory.path)


def _by_node(inventory: Inventory, description: SandboxDescription, document: Document) -> dict[str, Entries]:
    """Node name → its entries (key as written, description) in the order of the file, ranges unfolded."""
    names = [node.name for node in inventory.nodes]
    spoken: dict[str, Entries] = {}
    for key, entry in description.nodes.items():
        place: Keys = ("sandbox", "nodes", key)
        for name in _unfolded(key, place, document):
            if name not in names:
                near = nodeset.suggestion(name, names)
                raise document.error(place, f"{name!r} is no node of this inventory; expected one of its nodes{near}")
            spoken.setdefault(name, []).append((key, entry or NodeDescription()))
    return spoken


def _unfolded(key: str, place: Keys, document: Document) -> tuple[str, ...]:
    try:
        return nodeset.unfold(key)
    except ValueError as problem:
        raise document.error(place, str(problem)) from problem


def _planned(
    node: Node, number: int, profile: Profile, entries: Entries, known: Faults, document: Document
) -> Planned:
    overrides, unreachable, busy = Overrides(), "", ""
    for key, entry in entries:
        for name in _faults(key, entry, known, document):
            overrides = overrides.then(known[name])
        _check_nvml(key, entry, document)
        overrides = overrides.then(entry)
        unreachable, busy = entry.unreachable or unreachable, entry.busy or busy
    where = document.where("sandbox", "nodes", *(key for key, _ in entries[-1:]))
    cables = _cables(node, entries, document)
    return Planned(node, number, profile, overrides, unreachable, busy, where, cables=cables)


def _cables(node: Node, entries: Entries, document: Document) -> dict[str, End | None]:
    """Where the node's cables really end, each of them one that the inventory names."""
    ends: dict[str, End | None] = {}
    for key, entry in entries:
        for device in entry.cables:
            if device not in node.cables:
                has = ', '.join(node.cables) or 'none'
                place = ("sandbox", "nodes", key, "cables", device)
                raise document.error(place, f"the inventory names no cable {device!r:.40} of {node.name}; expected one of: {has}")
        ends |= entry.cables
    return ends


def _faults(key: str, entry: NodeDescription, known: Faults, document: Document) -> tuple[str, ...]:
    """The names of an entry's faults, each of them known."""
    for place, name in enumerate(entry.faults):
        if name not in known:
            expected = f"expected one of: {', '.join(known)}{nodeset.suggestion(name, list(known))}"
            raise document.error(("sandbox", "nodes", key, "faults", place), f"unknown fault {name!r}; {expected}")
    return entry.faults


def _check_nvml(key: str, entry: NodeDescription, document: Document) -> None:
    """Refuse what the simulated NVML would refuse, while the place in the file is known."""
    for place, override in enumerate(entry.nvml):
        try:
            _check(override)
        except SandboxError as problem:
            raise document.error(("sandbox", "nodes", key, "nvml", place), str(problem)) from problem


def _check(override: NvmlOverride) -> None:
    if override.absent and override.call not in native.SYMBOLS:
        raise SandboxError(f"unknown NVML call {override.call!r}{nodeset.suggestion(override.call, native.SYMBOLS)}")
    if not override.absent and not override.missing:
        native.nvml_state([override.rule()], [], 0.0)
