"""How the entries of an inventory become nodes: ranges unfolded; defaults, groups and refinements merged."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fleetcheck import nodeset
from fleetcheck.cabled import End, end, filled
from fleetcheck.entries import PLACES, InventoryFile, passed
from fleetcheck.entry_words import check_address
from fleetcheck.nodes import Node, SshSettings
from fleetcheck.yamlfile import Document, Keys

Settings = Mapping[str, Any]
_AT = re.compile(r"@([A-Za-z0-9._-]+)")
_PATHS = ("identity_file", "known_hosts", "config_file")
_PLAIN = ("profile", "state", "until", "transport", "become", "torch_python", "scratch", "bmc", "claim", "load", "interconnect")


def resolved(file: InventoryFile, document: Document, base: Path,
             today: datetime.date) -> tuple[tuple[Node, ...], Mapping[str, tuple[str, ...]]]:
    """Every node of the file, and its groups; raises InventoryError."""
    keys = _keys_of_nodes(file, document)
    groups = _groups(file, document, list(keys))
    member_of: dict[str, list[str]] = {name: [] for name in keys}
    for group, names in groups.items():
        for name in names:
            member_of[name].append(group)
    build = _Build(file, document, base, today, {name: nodeset.fold(members) for name, members in groups.items()})
    nodes = tuple(build.node(name, chain, tuple(member_of[name])) for name, chain in keys.items())
    _refuse_shared_addresses(nodes, keys, document)
    _refuse_shared_ports(nodes, build, keys)
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
            raise document.error(("nodes", key), _twice(again, key, chains[again][-1], document))
        for name in names:
            chains[name] = (*chains.get(name, ()), key)
    if not chains:
        raise document.error(("nodes",), "there is no node; expected names or ranges such as 'n[01-32]' under nodes")
    return chains


def _twice(name: str, key: str, earlier: str, document: Document) -> str:
    return (f"node {name!r} is given twice: by {key!r:.80} and by {earlier!r:.80} in line "
            f"{document.line(('nodes', earlier))}; expected it once, or the second range to lie within the first")


def _unfolded(key: str, document: Document) -> tuple[str, ...]:
    try:
        return nodeset.unfold(key)
    except ValueError as error:
        raise document.error(("nodes", key), str(error)) from None


def _groups(file: InventoryFile, document: Document, names: list[str]) -> dict[str, tuple[str, ...]]:
    """Each group's nodes in inventory order; a group may name others with ``@``."""
    groups: dict[str, tuple[str, ...]] = {}
    pending = list(file.groups)
    while pending:
        group = next((group for group in pending if not _named(file, group) & set(pending)), "")
        if not group:
            raise document.error(("groups", pending[0], "nodes"), _circle(file, pending))
        groups[group] = _members(group, file.groups[group].nodes, names, groups, document)
        pending.remove(group)
    return {group: groups[group] for group in file.groups}


def _named(file: InventoryFile, group: str) -> set[str]:
    """The groups that a group names."""
    return set(_AT.findall(file.groups[group].nodes))


def _circle(file: InventoryFile, pending: list[str]) -> str:
    path = [pending[0]]
    while len(set(path)) == len(path):
        path.append(min(_named(file, path[-1]) & set(pending)))
    return f"groups name each other in a circle: {' → '.join(path)}; expected an end"


def _members(group: str, text: str, names: list[str], groups: Mapping[str, tuple[str, ...]],
             document: Document) -> tuple[str, ...]:
    try:
        if not nodeset.is_name(group):
            raise ValueError("this name is not allowed; expected one such as leaf1")
        chosen = nodeset.choose(text, names, groups)
        if not chosen:
            raise ValueError(f"there is no node in it; expected some of {nodeset.fold(names)}")
    except ValueError as error:
        raise document.error(("groups", group, "nodes"), f"group {group!r:.80}: {error}") from None
    return tuple(name for name in names if name in chosen)


def merged(below: Settings, above: Settings) -> dict[str, Any]:
    """Settings of which the upper win; mappings merge key by key."""
    both = {key: merged(below[key], above[key]) for key in below.keys() & above.keys()
            if isinstance(below[key], Mapping) and isinstance(above[key], Mapping)}
    return {**below, **above, **both}


class _Build:
    """Builds nodes from the settings that apply to them: defaults, then groups, then ranges, the narrowest last."""

    def __init__(self, file: InventoryFile, document: Document, base: Path, today: datetime.date, folded: Mapping[str, str]) -> None:
        """folded: group → its nodes as a range."""
        self.document, self.base, self.today, self.folded = document, base, today, folded
        hardware = (file.sandbox or {}).get("profile")
        lowest = {"ssh": file.ssh.given(), **({"profile": hardware} if isinstance(hardware, str) else {})}
        self.defaults = merged(lowest, file.defaults.given())
        self.groups = {name: entry.given() for name, entry in file.groups.items()}
        self.entries = {key: entry.given() for key, entry in file.nodes.items()}

        self.templates: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[Node, Settings]] = {}
        self.dealt: dict[tuple[str, str], Mapping[str, str]] = {}

    def node(self, name: str, keys: tuple[str, ...], groups: tuple[str, ...]) -> Node:
        if (keys, groups) not in self.templates:
            given = self._given(keys, groups)
            self.templates[keys, groups] = self._template(given, groups), given
        template, given = self.templates[keys, groups]
        return replace(template, name=name, address=self._address(name, keys, given), cables=self._cables(name, keys, given, template))

    def _given(self, keys: tuple[str, ...], groups: tuple[str, ...]) -> Settings:
        """What is said about the nodes of these keys and groups; null takes back what was said below it."""
        settings: Settings = self.defaults
        for above in [*(self.groups[group] for group in groups), *(self.entries[key] for key in keys)]:
            settings = merged(settings, above)
        return {key: value for key, value in settings.items() if value is not None}

    def _template(self, given: Settings, groups: tuple[str, ...]) -> Node:
        plain = {key: given[key] for key in _PLAIN if key in given}
        return Node("", "", **{"profile": "", **plain}, groups=groups,
                    labels=_labels(given), ssh=self._ssh(given.get("ssh", {})), note=self._note(given),
                    serials=MappingProxyType(given.get("serials", {})))

    def _ssh(self, given: Settings) -> SshSettings:
        paths = {key: self._path(given[key]) for key in _PATHS if given.get(key)}
        if given.get("config_file") == "none":  # as ssh -F none: no configuration at all
            paths["config_file"] = Path("none")
        return SshSettings(**{**given, **paths, "options": MappingProxyType(given.get("options") or {})})

    def _path(self, text: str) -> Path:
        """``~`` is the user's home; what is relative lies beside the inventory."""
        return (self.base / Path(text).expanduser()).absolute()

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
            return check_address(self._own_address(text, name, key))
        except ValueError as error:
            raise self.document.error(("nodes", key, "address"), str(error)) from None

    def _cables(self, name: str, keys: tuple[str, ...], given: Settings, template: Node) -> Mapping[str, End]:
        """Where each cable should end: labels filled in, a range of ports dealt out in order; null takes a cable back."""
        ends: dict[str, End] = {}
        for device, text in given.get("cables", {}).items():
            place = self.place_of(device, keys, template.groups)
            among = {"nodes": place[1], "groups": self.folded.get(str(place[1]))}.get(str(place[0])) or keys[-1]
            try:
                if text is not None:
                    switch, slash, port = filled(text, name, template.labels).rpartition("/")
                    ends[device] = end(f"{switch}{slash}{self._own(port, name, str(among), 'ports')}")
            except ValueError as error:
                raise self.document.error(place, f"cable {device}: {error}") from None
        return MappingProxyType(ends)

    def place_of(self, device: str, keys: tuple[str, ...], groups: tuple[str, ...]) -> Keys:
        """Where the file says where a cable ends: the narrowest place."""
        places = [*(("nodes", key) for key in reversed(keys)), *(("groups", group) for group in reversed(groups))]
        told = {"nodes": self.entries, "groups": self.groups}
        return next(((kind, key, "cables", device) for kind, key in places if device in told[kind][key].get("cables", {})),
                    ("defaults", "cables", device))

    def _own(self, text: str, name: str, key: str, what: str = "addresses") -> str:
        """The node's own part of a range dealt out among the nodes of a key."""
        if "[" not in text:
            return text
        if (key, text) not in self.dealt:
            self.dealt[key, text] = dealt(text, key, what)
        return self.dealt[key, text][name]

    def _own_address(self, text: str, name: str, key: str) -> str:
        """``{name}`` and ``%h`` stand for the node's name; a range of addresses is dealt out in order."""
        if "[" not in text or text.startswith("["):
            return text.replace("{name}", name).replace("%h", name)
        return self._own(text, name, key)


def dealt(addresses: str, nodes: str, what: str = "addresses") -> dict[str, str]:
    """Each node's own address out of a range of as many; raises ValueError.

    >>> dealt("192.0.2.[31-33]", "n[1-3]")["n2"]
    '192.0.2.32'
    """
    names, each = nodeset.unfold(nodes), nodeset.unfold(addresses)
    if len(names) != len(each):
        raise ValueError(f"{addresses!r:.60} are {len(each)} {what} for the {len(names)} nodes {nodes!r:.60}; "
                         "expected as many of each")
    return dict(zip(names, each, strict=True))


def _labels(given: Settings) -> Mapping[str, str]:
    places = {place: given[place] for place in PLACES if place in given}
    return MappingProxyType({**given.get("labels", {}), **places})


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


def _refuse_shared_ports(nodes: tuple[Node, ...], build: _Build, keys: Mapping[str, tuple[str, ...]]) -> None:
    """Two cables in one port of a switch: one of the two words is wrong, and a healthy node would be blamed for it."""
    seen: dict[str, str] = {}
    for node in nodes:
        for device, where in node.cables.items():
            this = f"{node.name} {device}"
            other = seen.setdefault(str(where).lower(), this) if where.port else this
            if other != this:
                raise build.document.error(build.place_of(device, keys[node.name], node.groups), (
                    f"the cables of {other} and {this} both end in {where}; expected one each: write "
                    "'leaf1/swp{slot}' with a label of the node, or as many ports as nodes: 'leaf1/swp[1-16]'"))
