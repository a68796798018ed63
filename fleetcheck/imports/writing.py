"""A draft as the text of an inventory: nodes that say the same folded into ranges, addresses too. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from fleetcheck import nodeset
from fleetcheck.imports.draft import Draft, Keys
from fleetcheck.yamlfile import one_line

ADDRESS = "address"


def text(draft: Draft, source: str) -> str:
    """The inventory. source: what it was made of, for its first line."""
    lines = [f"# Made by fleetcheck import of {one_line(source)}. Look it over: it says who the nodes are, not what they should be."]
    lines += ["# Not mapped:", *(f"#   {one_line(each)}" for each in draft.unmapped)] if draft.unmapped else []
    lines.append(f"fleet: {_flow(draft.fleet)}")
    defaults = {key: value for key, value in draft.defaults.items() if key != "ssh"}
    lines += [f"ssh: {_flow(draft.defaults['ssh'])}"] if draft.defaults.get("ssh") else []
    lines += [f"defaults: {_flow(defaults)}"] if defaults else []
    lines += ["nodes:", *(f"  {_flow(names)}: {_flow(keys)}" for names, keys in blocks(draft.nodes))]
    if draft.groups:
        lines += ["groups:", *(f"  {_flow(name)}: {_flow({'nodes': members, **keys} if keys else members)}"
                               for name, (members, keys) in draft.groups.items())]
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    """A value on one line, as YAML; whatever could be read as something else is quoted."""
    dumped = yaml.safe_dump(value, default_flow_style=True, width=10**6, sort_keys=False, allow_unicode=True)
    return str(dumped.removesuffix("\n").removesuffix("\n..."))


def blocks(nodes: Mapping[str, Keys]) -> Iterator[tuple[str, Keys]]:
    """Ranges with their keys: nodes with equal keys together, their addresses as one range or as ``{name}…`` where they are."""
    for names in _alike(nodes).values():
        folded, keys = nodeset.fold(names), {key: value for key, value in nodes[names[0]].items() if key != ADDRESS}
        addresses = [str(nodes[name].get(ADDRESS, "")) for name in names]
        shared = _address(names, addresses, folded)
        if shared is not None:
            yield folded, {**({ADDRESS: shared} if shared else {}), **keys}
            continue
        for name, address in zip(names, addresses, strict=True):
            yield name, {**({ADDRESS: address} if address else {}), **keys}


def _alike(nodes: Mapping[str, Keys]) -> dict[str, list[str]]:
    """Nodes by what they say, their address left out; those without one apart from those with one."""
    found: dict[str, list[str]] = {}
    for name, keys in nodes.items():
        own = {key: value for key, value in keys.items() if key != ADDRESS}
        found.setdefault(json.dumps([own, ADDRESS in keys], sort_keys=True), []).append(name)
    return found


def _address(names: Sequence[str], addresses: Sequence[str], folded: str) -> str | None:
    """One word for the addresses of these nodes, checked by unfolding both; None where there is none, empty where they have none."""
    if not any(addresses):
        return ""
    if len(names) == 1:
        return addresses[0]
    after = addresses[0].removeprefix(names[0])
    if all(address == f"{name}{after}" for name, address in zip(names, addresses, strict=True)):
        return f"{{name}}{after}"
    given = dict(zip(names, addresses, strict=True))
    if any(":" in address for address in addresses):
        return None
    range_of = nodeset.fold(addresses)
    try:
        dealt = list(nodeset.unfold(range_of)) == [given[name] for name in nodeset.unfold(folded)]
    except ValueError:
        return None
    return range_of if dealt else None
