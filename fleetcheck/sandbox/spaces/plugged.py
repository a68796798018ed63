"""Which cable ends in which port of the switch: the links of a description, one a node. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fleetcheck.sandbox.spaces.link import Link
from fleetcheck.yamlfile import Document, Keys

if TYPE_CHECKING:
    from fleetcheck.sandbox.description import NodeDescription, SandboxDescription
    from fleetcheck.sandbox.plan import Planned

Entries = Sequence[tuple[str, "NodeDescription"]]


def plugged(planned: list[Planned], description: SandboxDescription, spoken: Mapping[str, Entries], document: Document) -> list[Planned]:
    """The same nodes with their links; raises InventoryError where two cables end in one port, or nodes have no links at all."""
    if description.kind != "namespaces":
        _no_links(description, spoken, document)
        return planned
    taken: dict[str, str] = {}
    found = []
    for one in planned:
        link = _link(one, description.link, spoken.get(one.node.name, ()))
        other = taken.setdefault(link.port, one.node.name)
        if other != one.node.name:
            raise document.error(_place(spoken, one.node.name), (
                f"the cables of {other} and {one.node.name} both end in port {link.port}; expected one each: swapped cables name each "
                "other's port, which is swp and the node's number unless told otherwise"))
        found.append(dataclasses.replace(one, link=link))
    return found


def _link(one: Planned, every: Link, entries: Entries) -> Link:
    """What holds for all links, then what is said of this one."""
    link = Link(port=f"swp{one.number}").then(every)
    for _, entry in entries:
        link = link.then(entry.link)
    return link


def _place(spoken: Mapping[str, Entries], node: str) -> Keys:
    key = next((key for key, entry in reversed(spoken.get(node, ())) if entry.link.port), "")
    return ("sandbox", "nodes", key, "link", "port") if key else ("sandbox", "link", "port")


def _no_links(description: SandboxDescription, spoken: Mapping[str, Entries], document: Document) -> None:
    """A link that nothing makes would be a fault that nobody sees."""
    where: list[Keys] = [("sandbox", "link")] if description.link.model_fields_set else []
    where += [("sandbox", "nodes", key, "link") for entries in spoken.values() for key, entry in entries if entry.link.model_fields_set]
    if where:
        raise document.error(where[0], "simulated nodes have no links of their own; expected kind: namespaces in the sandbox section")
