"""Who the nodes are: an inventory file read into nodes, groups and the profiles they name. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from fleetcheck import ansible, nodeset, profiles, yamlfile
from fleetcheck.alerts.terms import AlertsEntry, floor_nodes
from fleetcheck.complaints import complaint
from fleetcheck.entries import InventoryFile
from fleetcheck.isolation.terms import IsolationEntry, unlabelled
from fleetcheck.load_entries import PowerEntry
from fleetcheck.nodes import Node, SshSettings
from fleetcheck.nodeset import fold
from fleetcheck.policy import Policy, Repeats, expired, placed
from fleetcheck.profile import Profile
from fleetcheck.resolution import resolved
from fleetcheck.yamlfile import Document, InventoryError

__all__ = ["Inventory", "InventoryError", "Node", "SshSettings", "fold", "load", "select"]

_TYPED = frozenset({"sandbox", "notes"})
_LOOK = 1 << 20
"""Characters of a file that is no YAML, to see what it is instead."""


@dataclass(frozen=True)
class Inventory:
    """A fleet as its file describes it.

    groups: names in inventory order; profile_texts: file name → text, each profile in use and all that it extends;
    sandbox: the file's own mapping, numbers and booleans as YAML 1.2 reads them. policy: check → the site's word on it;
    repeats: how its history weighs.
    today: the day on which its waivers are read.
    """

    fleet: str
    path: Path
    text: str
    nodes: tuple[Node, ...]
    groups: Mapping[str, tuple[str, ...]]
    profiles: Mapping[str, Profile]
    profile_texts: Mapping[str, str]
    sandbox: Mapping[str, Any] | None = None
    policy: Policy = field(default_factory=dict)
    repeats: Repeats = field(default_factory=Repeats)
    power: PowerEntry = field(default_factory=PowerEntry)
    isolation: IsolationEntry = field(default_factory=IsolationEntry)
    alerts: AlertsEntry = field(default_factory=AlertsEntry)
    today: datetime.date = field(default_factory=datetime.date.today)
    document: Document | None = field(default=None, repr=False, compare=False)

    @property
    def floor(self) -> int | None:
        """How many nodes must be healthy; None where the file does not say."""
        return floor_nodes(self.alerts, self.nodes)

    def expired(self) -> list[str]:
        """The waivers, of the file and of its profiles, that no longer count, one sentence each."""
        return expired(self.policy, {name: profile.policy for name, profile in self.profiles.items()}, self.today)

    def where(self, *keys: str) -> str:
        """``FILE:LINE`` of a key, for messages about it: ``where("sandbox", "nodes", "sim-03")``."""
        return self.document.where(*keys) if self.document else str(self.path)


def load(path: Path, today: datetime.date | None = None, base: Path | None = None) -> Inventory:
    """The inventory in this file; raises InventoryError, one line, on anything that is not as it should be.

    today: the day against which ``until`` is read. base: the folder of relative paths, when not the file's own (a copy
    kept with a run). Profiles are looked up in ``profiles/`` beside the file, then among the shipped ones.
    """
    document = _read(path)
    try:
        file = InventoryFile.model_validate(document.data)
    except ValidationError as error:
        raise complaint(error, InventoryFile, [document]) from None
    day = today or datetime.date.today()
    nodes, groups = resolved(file, document, base or path.parent, day)
    policy = placed(file.policy.checks, document, [node.name for node in nodes], groups)
    _known_racks(file.power, document, {node.labels.get("rack", "") for node in nodes})
    _known_labels(file.isolation, document, {label for node in nodes for label in node.labels})
    found = profiles.for_nodes(nodes, document)
    return Inventory(file.fleet, path, document.text, nodes, groups, MappingProxyType(found.profiles),
                     MappingProxyType(found.texts), _sandbox(file), policy, file.policy.history, file.power, file.isolation, file.alerts,
                     day, document)


def _known_racks(power: PowerEntry, document: Document, racks: set[str]) -> None:
    """A budget that no node falls under protects nothing."""
    for rack in power.racks:
        if rack not in racks:
            known = ", ".join(sorted(filter(None, racks))) or "none: give nodes a rack: first"
            raise document.error(("power", "racks", rack), f"no node stands in rack {rack!r:.60}; expected one of: {known}")


def _known_labels(isolation: IsolationEntry, document: Document, labels: set[str]) -> None:
    kind = unlabelled(isolation, labels)
    if kind:
        known = ", ".join(["fleet", "partition", *sorted(labels)])
        raise document.error(("isolation", "budgets", kind), f"no node has a label {kind!r:.60}; expected one of: {known}")


def _sandbox(file: InventoryFile) -> Mapping[str, Any] | None:
    """What ``sandbox:`` says; the word alone asks for healthy machines, and is no word to contact real ones."""
    return file.sandbox or ({} if "sandbox" in file.model_fields_set else None)


def _read(path: Path) -> yamlfile.Document:
    """The file as YAML; one of Ansible's is refused in words of its own."""
    try:
        return yamlfile.read(path, "inventory", _TYPED)
    except InventoryError:
        text = _beginning(path)
        if not ansible.is_ini(text):
            raise
    line, message = ansible.refusal(text)
    raise InventoryError(f"{path}:{line}: {yamlfile.one_line(message)}")


def _beginning(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_LOOK)


def select(inventory: Inventory, nodes: str = "", group: str = "") -> tuple[Node, ...]:
    """The nodes chosen by ``--nodes`` and ``--group``, in inventory order; those out of service stay, to be listed.

    Raises InventoryError on an unknown node or group and on an empty selection.
    """
    names = [node.name for node in inventory.nodes]
    try:
        chosen = nodeset.choose(nodes, names, inventory.groups) if nodes.strip() else set(names)
        for name in _listed(group):
            chosen &= set(nodeset.group_names(name, inventory.groups))
    except ValueError as error:
        raise InventoryError(f"{inventory.path}: {yamlfile.one_line(str(error))}") from None
    if not chosen:
        asked = _asked(nodes, group)
        raise InventoryError(f"{inventory.path}: {asked} selects no node; expected some of {fold(names)}")
    return tuple(node for node in inventory.nodes if node.name in chosen)


def _listed(group: str) -> Iterable[str]:
    return [group.strip()] if group.strip() else []


def _asked(nodes: str, group: str) -> str:
    asked = [f"--nodes {nodes!r}" if nodes else "", f"--group {group!r}" if group else ""]
    return yamlfile.one_line(" with ".join(part for part in asked if part) or "the inventory")
