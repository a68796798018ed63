"""A node, and how the entries of an inventory become nodes: ranges unfolded, defaults, groups and refinements merged."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fleetcheck import nodeset
from fleetcheck.entries import PLACES, InventoryFile, check_address, passed
from fleetcheck.yamlfile import Document

Settings = Mapping[str, Any]
_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class SshSettings:
    """How to log in to a node. None: what ~/.ssh/config says. Paths are absolute; options are those of ssh_config."""

    user: str | None = None
    port: int | None = None
    identity_file: Path | None = None
    known_hosts: Path | None = None
    jump: str | None = None
    config_file: Path | None = None
    options: Mapping[str, str] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True)
class Node:
    """A place in the fleet where a machine stands. serials: what it is expected to be, such as ``{"chassis": "…"}``."""

    name: str
    address: str
    profile: str
    labels: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    ssh: SshSettings = SshSettings()
    state: str = "in-service"
    until: datetime.date | None = None
    note: str = ""
    transport: str = "auto"
    become: tuple[str, ...] = ()
    torch_python: str | None = None
    scratch: str | None = None
    serials: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    bmc: Mapping[str, Any] | None = None
    groups: tuple[str, ...] = ()

    @property
    def in_service(self) -> bool:
        """Whether the node is to be contacted; the others are only listed."""
        return self.state == "in-service"


def resolved(file: InventoryFile, document: Document, base: Path,
             today: datetime.date) -> tuple[tuple[Node, ...], Mapping[str, tuple[str, ...]]]:
    """Every node of the file, and its groups; raises InventoryError."""
    keys = _keys_of_nodes(file, document)
    groups = _groups(file, document, list(keys))
    member_of: dict[str, list[str]] = {name: [] for name in keys}
    for group, names in groups.items():
        for name in names:
            member_of[name].append(group)
    build = _Build(file, document, base, today)
    nodes = tuple(build.node(name, chain, tuple(member_of[name])) for name, chain in keys.items())
    _refuse_shared_addresses(nodes, keys, document)
    return nodes, MappingProxyType(groups)


def _keys_of_nodes(file: InventoryFile, document: Document) -> dict[str, tuple[str, ...]]:
    """Each node's keys in the file, the widest range first."""
    ranges: dict[str, frozenset[str]] = {}
    chains: dict[str, tuple[str, ...]] = {}
    for key in file.nodes:
        names = _unfolded(key, document)
        ranges[key] = frozenset(names)
        again = next((name for name in names if name in chains), None)
        if again is not None and not ranges[key] < ranges[chains[again][-1]]:
            earlier = chains[again][-1]
            raise document.error(("nodes", key), (
                f"node {again!r} is given twice: by {key!r} and by {earlier!r} in line {document.line(('nodes', earlier))}; "
                "expected it once, or the second range to lie within the first"))
        for name in names:
            chains[name] = (*chains.get(name, ()), key)
    if not chains:
        raise document.error(("nodes",), "the inventory names no node; expected NAME or a range such as 'n[01-32]' under nodes")
    return chains


def _unfolded(key: str, document: Document) -> tuple[str, ...]:
    try:
        return nodeset.unfold(key)
    except ValueError as error:
        raise document.error(("nodes", key), str(error)) from None


def _groups(file: InventoryFile, document: Document, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Each group's nodes in inventory order. A group may name groups given before it."""
    groups: dict[str, tuple[str, ...]] = {}
    for group, entry in file.groups.items():
        if not nodeset.is_name(group):
            raise document.error(("groups", group), f"group name {group!r:.80} is not allowed; expected a name such as leaf1")
        try:
            chosen = nodeset.choose(entry.nodes, names, groups)
        except ValueError as error:
            raise document.error(("groups", group, "nodes"), f"group {group!r}: {error}") from None
        if not chosen:
            raise document.error(("groups", group), f"group {group!r} has no node; expected some of {nodeset.fold(names)}")
        groups[group] = tuple(name for name in names if name in chosen)
    return groups


def merged(below: Settings, above: Settings) -> dict[str, Any]:
    """Settings of which the upper win; mappings merge key by key."""
    both = {key: merged(below[key], above[key]) for key in below.keys() & above.keys()
            if isinstance(below[key], Mapping) and isinstance(above[key], Mapping)}
    return {**below, **above, **both}


class _Build:
    """Builds nodes from the settings that apply to them: defaults, then groups, then ranges, the narrowest last."""

    def __init__(self, file: InventoryFile, document: Document, base: Path, today: datetime.date) -> None:
        self.document, self.base, self.today = document, base, today
        hardware = (file.sandbox or {}).get("profile")
        lowest = {"ssh": file.ssh.given(), **({"profile": hardware} if isinstance(hardware, str) else {})}
        self.defaults = merged(lowest, file.defaults.given())
        self.groups = {name: entry.given() for name, entry in file.groups.items()}
        self.entries = {key: entry.given() for key, entry in file.nodes.items()}

    def node(self, name: str, keys: tuple[str, ...], groups: tuple[str, ...]) -> Node:
        settings: Settings = self.defaults
        for above in [*(self.groups[group] for group in groups), *(self.entries[key] for key in keys)]:
            settings = merged(settings, above)
        given = {key: value for key, value in settings.items() if value is not None}
        plain = {key: given[key] for key in ("profile", "state", "until", "transport", "become", "torch_python", "scratch")
                 if key in given}
        return Node(**{"profile": "", **plain}, name=name, address=self._address(name, keys, given), groups=groups,
                    labels=_labels(given), ssh=self._ssh(given.get("ssh", {})), note=self._note(given),
                    serials=MappingProxyType(given.get("serials", {})), bmc=given.get("bmc"))

    def _ssh(self, given: Settings) -> SshSettings:
        paths = {key: self._path(given[key]) for key in ("identity_file", "known_hosts", "config_file") if given.get(key)}
        return SshSettings(**{**given, **paths, "options": MappingProxyType(given.get("options") or {})})

    def _path(self, text: str) -> Path:
        """``~`` is the user's home; what is relative lies beside the inventory."""
        try:
            return (self.base / Path(text).expanduser()).absolute()
        except RuntimeError:
            raise self.document.error(("ssh",), f"path {text!r:.80}: no such user; expected a path or ~/path") from None

    def _note(self, given: Settings) -> str:
        note = str(given.get("note", ""))
        state = given.get("state", "in-service")
        if state == "in-service" or not passed(given.get("until"), self.today):
            return note
        return f"{note}{'; ' if note else ''}{state} was until {given['until']}, which has passed"

    def _address(self, name: str, keys: tuple[str, ...], given: Settings) -> str:
        text = str(given.get("address", name))
        key = next((key for key in reversed(keys) if "address" in self.entries[key]), keys[-1])
        try:
            return check_address(_own_address(text, name, key))
        except ValueError as error:
            raise self.document.error(("nodes", key, "address"), str(error)) from None


def _own_address(text: str, name: str, key: str) -> str:
    """The address of one node: ``{name}`` or ``%h`` stand for its name; a range of addresses is dealt out in order.

    >>> _own_address("192.0.2.[31-33]", "n2", "n[1-3]"), _own_address("{name}.example", "n2", "n[1-3]")
    ('192.0.2.32', 'n2.example')
    """
    text = text.replace("{name}", name).replace("%h", name)
    if "[" not in text or text.startswith("["):
        return text
    names, addresses = nodeset.unfold(key), nodeset.unfold(text)
    if len(names) != len(addresses):
        raise ValueError(f"{len(addresses)} addresses {text!r:.60} for {len(names)} nodes {key!r:.60}; expected as many of each")
    return addresses[names.index(name)]


def _labels(given: Settings) -> Mapping[str, str]:
    places = {place: given[place] for place in PLACES if place in given}
    return MappingProxyType({**{key: value for key, value in given.get("labels", {}).items() if value is not None}, **places})


def _refuse_shared_addresses(nodes: tuple[Node, ...], keys: Mapping[str, tuple[str, ...]], document: Document) -> None:
    """Thirty names for one machine would be thirty verdicts on the wrong one."""
    seen: dict[tuple[str, int | None, str | None], str] = {}
    for node in nodes:
        other = seen.setdefault((node.address, node.ssh.port, node.ssh.jump), node.name)
        if other != node.name and node.transport != "local":
            port = f" port {node.ssh.port}" if node.ssh.port else ""
            raise document.error(("nodes", keys[node.name][-1], "address"), (
                f"nodes {other!r} and {node.name!r} have the same address {node.address}{port}; expected one each: "
                "write address: '{name}.example', or as many addresses as nodes: '192.0.2.[31-60]'"))
