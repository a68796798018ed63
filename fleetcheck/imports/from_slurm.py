"""A draft of an inventory from Slurm's records: nodes, partitions as groups, switches as leaves, blocks as NVLink domains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetcheck import nodeset
from fleetcheck.imports.draft import Draft, Keys
from fleetcheck.imports.slurm_records import Record, records
from fleetcheck.profiles import shipped_names
from fleetcheck.yamlfile import InventoryError, one_line

GPUS = re.compile(r"\bgpu(?::(?P<type>[\w.-]*[A-Za-z][\w.-]*))?:(?P<count>\d+)")
MODELS: Mapping[tuple[str, int], str] = {
    ("gb200", 4): "gb200-nvl72-tray", ("b200", 8): "b200-sxm-8", ("h200", 8): "h200-sxm-8", ("h100", 8): "h100-sxm5-8",
    ("a100", 8): "a100-sxm4-80-8",
}
"""Profile by the type and count of Slurm's GPUs; the type's longest match counts, so gb200 before b200."""
ABSENT = ("future", "cloud", "powered_down", "powering_down")
"""States of nodes that are not there to be asked."""


@dataclass(frozen=True)
class Placed:
    """A record and the file it stands in."""

    path: Path
    record: Record

    def error(self, message: str) -> InventoryError:
        """One line with file and line."""
        return InventoryError(f"{self.where}: {one_line(message)}")

    @property
    def where(self) -> str:
        """FILE:LINE."""
        return f"{self.path}:{self.record.line}"


def draft(paths: Sequence[Path], profile: str = "") -> Draft:
    """What these files say together. profile: of every node, else as Gres tells. Raises InventoryError."""
    placed = [Placed(path, record) for path in paths for record in _read(path)]
    made = Draft(next((each.record.get("clustername") for each in placed if each.record.get("clustername")), paths[0].stem))
    _defaulted(placed, "nodename", lambda each: _nodes(each, made, profile))
    if not made.nodes:
        raise InventoryError(f"{paths[0]}:1: there is no NodeName in it; expected slurm.conf or the output of: scontrol show node")
    for kind, take in (("nodeset", _nodeset), ("partitionname", _partition), ("switchname", _switch), ("blockname", _block)):
        _defaulted(placed, kind, lambda each, take=take: take(each, made))  # type: ignore[misc]
    _told_by_nodes(placed, made)
    _missing(placed, made)
    return made


def _told_by_nodes(placed: Iterable[Placed], made: Draft) -> None:
    """Partitions of which only their nodes tell, as ``scontrol show node`` prints them."""
    members: dict[str, list[str]] = {}
    for each in placed:
        for partition in filter(None, each.record.get("partitions").split(",") if each.record.kind == "nodename" else ()):
            members.setdefault(partition, []).extend(_unfolded(each, each.record.name))
    for partition, names in members.items():
        if nodeset.is_name(partition):
            _join(made, partition, names)


def _missing(placed: Sequence[Placed], made: Draft) -> None:
    """What the files point at and none of them tells."""
    for each in placed:
        if each.record.kind == "include":
            made.say(f"{each.where}: Include {each.record.name}: not read; give that file too")
        elif "topology/" in each.record.get("topologyplugin") and not any(one.record.kind in ("switchname", "blockname") for one in placed):
            made.say(f"{each.where}: a topology is configured, and none of these files tells it; give topology.conf, or the output of: "
                     "scontrol show topology")


def _read(path: Path) -> Iterator[Record]:
    try:
        yield from records(path.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise InventoryError(f"{path}: cannot read it: {error.strerror}; expected slurm.conf or what scontrol prints") from None
    except ValueError as error:
        raise InventoryError(f"{path}:{one_line(str(error))}; expected slurm.conf or what scontrol prints") from None


def _defaulted(placed: Iterable[Placed], kind: str, take: Callable[[Placed], None]) -> None:
    """Take every record of a kind, completed by the ``DEFAULT`` one before it."""
    usual: dict[str, str] = {}
    for each in placed:
        record = each.record
        if record.kind != kind:
            continue
        if record.name.upper() == "DEFAULT":
            usual.update(record.keys)
        else:
            take(Placed(each.path, Record(kind, record.name, {**usual, **record.keys}, record.line)))


def _nodes(each: Placed, made: Draft, profile: str) -> None:
    names = _unfolded(each, each.record.name)
    keys: Keys = {"profile": profile or _profile(each, made)}
    state = each.record.get("state").lower()
    if any(word in state for word in ABSENT):
        keys |= {"state": "spare", "note": f"{state} in Slurm"}
    addresses = _addresses(each, names)
    for name, address in zip(names, addresses, strict=True):
        made.node(name, {**keys, **({"address": address} if address != name else {})})


def _unfolded(each: Placed, text: str) -> list[str]:
    try:
        return list(nodeset.unfold(text))
    except ValueError as error:
        raise each.error(str(error)) from None


def _addresses(each: Placed, names: list[str]) -> list[str]:
    """How to reach the nodes: NodeAddr, else NodeHostname, else their names."""
    told = each.record.get("nodeaddr", "nodehostname")
    if not told:
        return names
    addresses = _unfolded(each, told) if "[" in told or "," in told else [told]
    if len(addresses) != len(names):
        raise each.error(f"{told!r:.80} is {len(addresses)} addresses for {len(names)} nodes; expected one each")
    return addresses


def _profile(each: Placed, made: Draft) -> str:
    """The profile that Gres tells. Raises InventoryError where it tells of GPUs that no shipped profile is for."""
    gres = each.record.get("gres")
    gpus = GPUS.search(gres)
    if not gpus:
        made.say(f"{each.path}: nodes without GPUs in Gres have profile cpu-host; --profile NAME says otherwise")
        return "cpu-host"
    kind, count = (gpus["type"] or "").lower().replace("nvidia_", ""), int(gpus["count"])
    name = next((profile for (model, many), profile in MODELS.items() if model in kind and many == count), "")
    if not name:
        raise each.error(f"Gres={gres:.60} names no hardware that a shipped profile is for; expected --profile NAME, one of "
                         f"{shipped_names()} or one of your own")
    made.say(f"{each.path}: profile {name} is a guess from Gres={gpus[0]}: look whether it is that model")
    return name


def _join(made: Draft, group: str, names: Sequence[str], keys: Keys | None = None) -> None:
    """Put nodes into a group, beside those that are in it."""
    before, told = made.groups.get(group, ("", {}))
    made.groups[group] = (nodeset.fold([*([before] if before else []), *names]), {**told, **(keys or {})})


def _known(each: Placed, text: str, made: Draft) -> list[str]:
    """The nodes of a list that are in the draft; the others are said."""
    if text.upper() == "ALL":
        return list(made.nodes)
    names, parts = [], [part for part in re.split(r",(?![^\[]*\])", text) if part]
    for part in parts:
        own = made.groups.get(part)
        names += _unfolded(each, own[0]) if own else _unfolded(each, part)
    unknown = [name for name in names if name not in made.nodes]
    if unknown:
        made.say(f"{each.where}: {nodeset.fold(unknown)} of {each.record.name} is no node of these files: left out")
    return [name for name in names if name in made.nodes]


def _grouped(each: Placed, made: Draft, text: str, keys: Keys | None = None) -> None:
    name = each.record.name
    members = _known(each, text, made) if text else []
    if not nodeset.is_name(name):
        made.say(f"{each.where}: {name!r:.60} is a name that no group may have: left out")
    elif not members:
        made.say(f"{each.where}: {name} has no node: left out")
    else:
        _join(made, _free(each, made, members), members, keys)


def _free(each: Placed, made: Draft, members: Sequence[str]) -> str:
    """The record's name, or one beside it where another kind of record has it for other nodes."""
    name, kind = each.record.name, each.record.kind.removesuffix("name")
    before = made.groups.get(name)
    if kind in ("nodeset", "partition") or before is None or set(nodeset.unfold(before[0])) == set(members):
        return name
    made.say(f"{each.where}: {kind} {name} is called {kind}-{name} here, for a partition of other nodes has its name")
    return f"{kind}-{name}"


def _nodeset(each: Placed, made: Draft) -> None:
    if each.record.get("nodes"):
        _grouped(each, made, each.record.get("nodes"))
    else:
        made.say(f"{each.where}: node set {each.record.name} is made of features, which have no counterpart: left out")


def _partition(each: Placed, made: Draft) -> None:
    _grouped(each, made, each.record.get("nodes"))


def _switch(each: Placed, made: Draft) -> None:
    """A switch with nodes is a leaf; one with switches is the group of what hangs on them."""
    below = each.record.get("switches")
    if below:
        named = [f"switch-{name}" if f"switch-{name}" in made.groups else name for name in _unfolded(each, below)]
        own = [made.groups[name][0] for name in named if name in made.groups]
        _grouped(each, made, each.record.get("nodes") or ",".join(own))
    else:
        _grouped(each, made, each.record.get("nodes"), {"leaf": each.record.name})


def _block(each: Placed, made: Draft) -> None:
    _grouped(each, made, each.record.get("nodes"), {"nvlink_domain": each.record.name})
