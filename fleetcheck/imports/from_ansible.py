"""A draft of an inventory from Ansible's groups: hosts, groups, and those variables that an inventory has keys for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fleetcheck import nodeset
from fleetcheck.imports.ansible_groups import Group, Groups, read
from fleetcheck.imports.ansible_variables import Variable, keys_of
from fleetcheck.imports.draft import Draft, Keys
from fleetcheck.yamlfile import InventoryError

ALL, IMPLIED = "all", ("all", "ungrouped")
ADDRESSES = ("ansible_host", "ansible_ssh_host")


def draft(path: Path) -> Draft:
    """What one file says; ``group_vars`` and ``host_vars`` beside it are not read, and said. Raises InventoryError."""
    found = read(path)
    made = Draft(path.stem)
    if not found.hosts:
        raise InventoryError(f"{path}:1: there is no host in it; expected an inventory of Ansible")
    _defaults(path, found, made)
    for name, variables in found.hosts.items():
        if not nodeset.is_name(name):
            made.say(f"{path}: host {name!r:.80} has a name that no node may have: left out")
            continue
        made.node(name, _keys(path, variables, made))
    if not made.nodes:
        raise InventoryError(f"{path}:1: no host of it has a name that a node may have; give the host an alias and its address as "
                             f"ansible_host, expected in place of {next(iter(found.hosts))!r:.60}")
    _refuse_shared(path, found, made)
    for name in sorted(found.groups, key=lambda name: (_depth(found, name), name)):
        if name not in IMPLIED:
            _group(path, found, name, made)
    made.unmapped += [f"{path.parent / folder}: not read; its variables are missing here"
                      for folder in ("group_vars", "host_vars") if (path.parent / folder).is_dir()]
    return made


def _refuse_shared(path: Path, found: Groups, made: Draft) -> None:
    """Ansible expands ranges in host names only: a variable of a range's line is one address for all of them. Raises InventoryError."""
    first: dict[object, str] = {}
    for name, keys in made.nodes.items():
        address, port = keys.get("address"), keys.get("ssh", {}).get("port")
        other = first.setdefault((address, port), name)
        line = next((each.line for key, each in found.hosts[name].items() if key in ADDRESSES), 1)
        if address and "[" in address:
            raise InventoryError(f"{path}:{line}: {address:.80} is no range to Ansible but one literal address; expected one host each")
        if address and other != name:
            raise InventoryError(f"{path}:{line}: {other} and {name} have the same address {address:.80}; expected one each")


def _defaults(path: Path, found: Groups, made: Draft) -> None:
    everybody = found.groups.get(ALL)
    made.defaults.update(_keys(path, everybody.variables, made) if everybody else {})


def _keys(path: Path, variables: dict[str, Variable], made: Draft) -> Keys:
    keys, left = keys_of(variables)
    for line, sentence in left:
        made.say(f"{path}:{line}: {sentence}")
    return keys


def _group(path: Path, found: Groups, name: str, made: Draft) -> None:
    """A group as an expression over ranges and groups; an empty one is none."""
    group = found.groups[name]
    if not nodeset.is_name(name):
        return made.say(f"{path}:{group.line}: group {name!r:.80} has a name that no group may have: left out")
    if not any(host in made.nodes for host in _hosts(found, name, ())):
        return made.say(f"{path}:{group.line}: group {name} has no host: left out")
    made.groups[name] = (_members(found, group, made), _keys(path, group.variables, made))


def _members(found: Groups, group: Group, made: Draft) -> str:
    hosts = [host for host in group.hosts if host in made.nodes]
    children = [f"@{child}" for child in dict.fromkeys(group.children) if any(each in made.nodes for each in _hosts(found, child, ()))]
    return ",".join([*([nodeset.fold(hosts)] if hosts else []), *children])


def _hosts(found: Groups, name: str, above: Sequence[str]) -> Iterator[str]:
    """All hosts of a group; a group that holds itself ends there."""
    if name in found.groups and name not in above:
        yield from found.groups[name].hosts
        for child in found.groups[name].children:
            yield from _hosts(found, child, (*above, name))


def _depth(found: Groups, name: str, below: Sequence[str] = ()) -> int:
    """How far from the top: what a deeper group says wins, as with Ansible."""
    if name in below:
        return 0
    return max((1 + _depth(found, parent, (*below, name)) for parent, group in found.groups.items() if name in group.children), default=0)
