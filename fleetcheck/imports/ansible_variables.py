"""What Ansible's variables say that an inventory has a key for. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fleetcheck.entries import PLACES
from fleetcheck.imports.draft import Keys, merge

TRUE, FALSE = frozenset({"true", "yes", "on", "1"}), frozenset({"false", "no", "off", "0"})
_RIGHTS = {"sudo": "sudo -n", "doas": "doas -n"}
_JUMP = re.compile(r"(?:-J\s*|-o\s*ProxyJump[ =])(\S+)\Z")


@dataclass(frozen=True)
class Variable:
    """A variable as it was given, with its line."""

    value: str
    line: int


class Unmapped(Exception):
    """A value that has no counterpart; the text says why, never the value, which may be a secret."""


def _ssh(key: str) -> Callable[[str], Keys]:
    return lambda value: {"ssh": {key: value}}


def _port(value: str) -> Keys:
    if not value.isdigit() or not 0 < int(value) < 65536:
        raise Unmapped("is no port")
    return {"ssh": {"port": int(value)}}


def _connection(value: str) -> Keys:
    if value == "local":
        return {"transport": "local"}
    if value not in ("ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh"):
        raise Unmapped("names a connection other than ssh and local")
    return {}


def _arguments(value: str) -> Keys:
    jump = _JUMP.match(" ".join(shlex.split(value)))
    if jump is None:
        raise Unmapped("has arguments of ssh: put them into ~/.ssh/config")
    return {"ssh": {"jump": jump[1]}}


def _nothing(value: str) -> Keys:
    return {}


MAPPED: Mapping[str, Callable[[str], Keys]] = {
    **dict.fromkeys(("ansible_host", "ansible_ssh_host"), lambda value: {"address": value}),
    **dict.fromkeys(("ansible_user", "ansible_ssh_user"), _ssh("user")),
    **dict.fromkeys(("ansible_port", "ansible_ssh_port"), _port),
    **dict.fromkeys(("ansible_ssh_private_key_file", "ansible_private_key_file"), _ssh("identity_file")),
    **dict.fromkeys(("ansible_ssh_common_args", "ansible_ssh_extra_args"), _arguments),
    "ansible_connection": _connection,
    "ansible_python_interpreter": _nothing,  # fleetcheck finds the node's own
    **{place: (lambda value, place=place: {place: value}) for place in PLACES},  # type: ignore[misc]
}
BECOME = ("ansible_become", "ansible_become_method", "ansible_become_user")


def keys_of(variables: Mapping[str, Variable]) -> tuple[Keys, list[tuple[int, str]]]:
    """The keys they come to, and what has none, as (line, sentence)."""
    keys: Keys = {}
    left = []
    for name, variable in variables.items():
        if name in BECOME:
            continue
        try:
            merge(keys, _one(name, variable.value))
        except (Unmapped, ValueError) as why:
            left.append((variable.line, f"{name} {why}" if isinstance(why, Unmapped) else f"{name} cannot be read"))
    return _with_rights(keys, variables, left), left


def _one(name: str, value: str) -> Keys:
    if name not in MAPPED:
        raise Unmapped("has no counterpart")
    if "{{" in value or value.startswith("$ANSIBLE_VAULT"):
        raise Unmapped("is a template or in a vault: write the value")
    return MAPPED[name](value)


def _with_rights(keys: Keys, variables: Mapping[str, Variable], left: list[tuple[int, str]]) -> Keys:
    """``become``, where Ansible becomes root by a program that can do so without a password."""
    wanted = variables.get("ansible_become")
    if wanted is None or wanted.value.lower() in FALSE:
        return {**keys, "become": None} if wanted else keys
    method: Any = variables["ansible_become_method"].value if "ansible_become_method" in variables else "sudo"
    user = variables["ansible_become_user"].value if "ansible_become_user" in variables else "root"
    if wanted.value.lower() not in TRUE or method not in _RIGHTS or user != "root":
        left.append((wanted.line, "ansible_become becomes another user than root, or by another program than sudo and doas"))
        return keys
    return {**keys, "become": _RIGHTS[method]}
