"""What an import found, before it is written: nodes with their keys, groups, and what could not be mapped. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Keys = dict[str, Any]
"""Keys of a node as an inventory has them, ``ssh`` a mapping of its own."""


@dataclass
class Draft:
    """A fleet in the making. nodes: name → its own keys, in order; groups: name → members as an expression, and keys for them all;
    defaults: for all nodes; unmapped: one sentence each, with file and line."""

    fleet: str
    nodes: dict[str, Keys] = field(default_factory=dict)
    groups: dict[str, tuple[str, Keys]] = field(default_factory=dict)
    defaults: Keys = field(default_factory=dict)
    unmapped: list[str] = field(default_factory=list)

    def node(self, name: str, keys: Mapping[str, Any]) -> None:
        """Add a node, or keys to one that is there; ``ssh`` merges."""
        merge(self.nodes.setdefault(name, {}), keys)

    def say(self, sentence: str) -> None:
        """Something that could not be mapped; the same sentence once."""
        if sentence not in self.unmapped:
            self.unmapped.append(sentence)


def merge(into: Keys, keys: Mapping[str, Any]) -> None:
    """Add keys; mappings merge, anything else replaces."""
    for key, value in keys.items():
        if isinstance(value, Mapping):
            merge(into.setdefault(key, {}), value)
        else:
            into[key] = value
