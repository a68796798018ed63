"""An inventory of Ansible, INI or YAML, as groups of hosts with variables. Runs on the controller; reads one file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck import ansible, yamlfile
from fleetcheck.imports.ansible_variables import Variable
from fleetcheck.yamlfile import Document, InventoryError

TAGS = frozenset({"!vault", "!unsafe"})
KEYS = ("hosts", "children", "vars")
COMMENT = re.compile(r"\s[#;].*\Z")
MOST_BYTES = 16 << 20
Variables = dict[str, Variable]


@dataclass
class Group:
    """line: where it is first named."""

    line: int
    hosts: list[str] = field(default_factory=list)
    children: list[str] = field(default_factory=list)
    variables: Variables = field(default_factory=dict)


@dataclass
class Groups:
    """All groups, and all hosts with their own variables, in the order of the file."""

    groups: dict[str, Group] = field(default_factory=dict)
    hosts: dict[str, Variables] = field(default_factory=dict)

    def group(self, name: str, line: int) -> Group:
        """The group of this name, made where it is new."""
        return self.groups.setdefault(name, Group(line))

    def host(self, group: Group, names: list[str], variables: Variables) -> None:
        """Put hosts into a group."""
        for name in names:
            self.hosts.setdefault(name, {}).update(variables)
            if name not in group.hosts:
                group.hosts.append(name)


def read(path: Path) -> Groups:
    """Raises InventoryError, one line with file and line."""
    try:
        raw = path.read_bytes()
        text = raw.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "not UTF-8"
        raise InventoryError(f"{path}: cannot read it: {why}; expected an inventory of Ansible") from None
    if len(raw) > MOST_BYTES:
        raise InventoryError(f"{path}: over {MOST_BYTES >> 20} MiB; expected an inventory of Ansible")
    if path.suffix in (".yml", ".yaml") or not (ansible.is_ini(text) or path.suffix in (".ini", "")):
        return _of_yaml(yamlfile.read(path, "inventory of Ansible", tags=TAGS))
    return _of_ini(path, text)


def _of_ini(path: Path, text: str) -> Groups:
    found, name, kind = Groups(), "ungrouped", ""
    for number, line in _lines(text):
        section = ansible.SECTION.match(line)
        if section:
            name, kind = section["name"], section["kind"] or ""
            found.group(name, number)
            continue
        try:
            _line(found, found.group(name, number), kind, line, number)
        except ValueError as error:
            raise InventoryError(f"{path}:{number}: {yamlfile.one_line(str(error))}; expected a host, VARIABLE=VALUE or [GROUP]") from None
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, without comments, each with its number."""
    for number, line in enumerate(text.splitlines(), 1):
        said = COMMENT.sub("", line).strip()
        if said and said[0] not in "#;":
            yield number, said


def _line(found: Groups, group: Group, kind: str, line: str, number: int) -> None:
    """One line of a section. Raises ValueError."""
    if line[0] == "[" and (" " in line.partition("]")[0] or line[-1] == "]" or "]" not in line):
        raise ValueError(f"bad section {line!r:.60}")
    if kind == "children":
        group.children.append(line.split()[0])
        found.group(group.children[-1], number)
    elif kind == "vars":
        name, equals, value = line.partition("=")
        if not equals:
            raise ValueError(f"{line!r:.60} is no variable")
        group.variables[name.strip()] = Variable(_unquoted(value.strip()), number)
    else:
        _host_line(found, group, line, number)


def _host_line(found: Groups, group: Group, line: str, number: int) -> None:
    first, *rest = shlex.split(line)
    ported = ansible.PORTED.match(first)
    variables = {"ansible_port": Variable(ported["port"], number)} if ported else {}
    for word in rest:
        name, equals, value = word.partition("=")
        if not equals:
            raise ValueError(f"{word!r:.60} is no VARIABLE=VALUE")
        variables[name] = Variable(value, number)
    found.host(group, ansible.expanded(ported["host"] if ported else first), variables)


def _unquoted(value: str) -> str:
    """The value of a ``:vars`` line, which Ansible reads as a Python literal."""
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _of_yaml(document: Document) -> Groups:
    found = Groups()
    for name, content in document.data.items():
        _yaml_group(found, document, name, content, (name,))
    return found


def _yaml_group(found: Groups, document: Document, name: str, content: Any, keys: yamlfile.Keys) -> None:
    group = found.group(name, document.line(keys))
    for key, value in _mapping(document, content, keys).items():
        if key not in KEYS:
            raise document.error((*keys, key), f"unknown key {key!r:.60} of group {name!r:.60}; expected one of: {', '.join(KEYS)}")
        if key == "vars":
            group.variables.update(_variables(document, value, (*keys, key)))
            continue
        for member, said in _mapping(document, value, (*keys, key)).items():
            place = (*keys, key, member)
            if key == "hosts":
                found.host(group, _expanded(document, member, place), _variables(document, said, place))
            else:
                group.children.append(member)
                _yaml_group(found, document, member, said, place)


def _expanded(document: Document, member: str, place: yamlfile.Keys) -> list[str]:
    try:
        return ansible.expanded(member)
    except ValueError as error:
        raise document.error(place, f"{error}; expected a range such as n[01:32]") from None


def _mapping(document: Document, value: Any, keys: yamlfile.Keys) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise document.error(keys, f"{keys[-1]!r:.60} is no mapping; expected NAME: …, as in an inventory of Ansible")
    return value


def _variables(document: Document, value: Any, keys: yamlfile.Keys) -> Variables:
    """Variables; one that is a list or a mapping has no counterpart, whatever is in it."""
    return {name: Variable(each if isinstance(each, str) else "" if each is None else "{{", document.line((*keys, name)))
            for name, each in _mapping(document, value, keys).items()}
