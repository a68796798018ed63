"""Which nodes can take part in trials, and which not and why, from what they say of themselves. Runs on the controller; pure.

Software must be alike: NCCL refuses other versions, and figures of different ones compare nothing. Where nodes differ the majority is
right and the odd ones are named; without a majority nobody is, and all are.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fleetcheck.collective import talk
from fleetcheck.nodes import Node
from fleetcheck.quoting import escaped
from fleetcheck.records import Answer, Evidence, Failure

ALIKE = ("torch", "nccl", "cuda")


@dataclass(frozen=True, slots=True)
class Ready:
    """A node that can take part. address: by which others reach it; ranks: how many it can run; free_ports: for a master."""

    node: str
    address: str
    ranks: int
    free_ports: tuple[int, ...]
    software: Mapping[str, str]


def members(evidence: Mapping[str, Evidence], nodes: Mapping[str, Node]) -> tuple[dict[str, Ready], dict[str, Failure]]:
    """(those that can take part, those that cannot and why), by name. They are of one kind: what differs among them is the odd one."""
    ready: dict[str, Ready] = {}
    refused: dict[str, Failure] = {}
    told: dict[str, Mapping[str, Any]] = {}
    for name, each in evidence.items():
        try:
            told[name] = _told(each)
            ready[name] = _ready(nodes[name], told[name])
        except _NotReady as error:
            refused[name] = Failure(error.kind, escaped(f"{name}: {error}"))
    for name, why in (*_unlike(ready), *_unresolved(ready, told)):
        refused.setdefault(name, Failure("not-ready", escaped(f"{name}: it cannot take part in trials: {why}")))
    return {name: each for name, each in ready.items() if name not in refused}, refused


class _NotReady(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _told(evidence: Evidence) -> Mapping[str, Any]:
    if evidence.failure:
        raise _NotReady(evidence.failure.kind, evidence.failure.message.removeprefix(f"{evidence.node}: "))
    answer = evidence.answers.get("rank_ready", Answer(ok=False, error="no answer"))
    if not answer.ok or not isinstance(answer.data, Mapping):
        raise _NotReady("node-code", f"rank_ready: {answer.error:.300}")
    return answer.data


def _ready(node: Node, told: Mapping[str, Any]) -> Ready:
    device, per_node = talk.device(node), talk.per_node(node)
    software = told.get("software")
    if not isinstance(software, Mapping) or "torch" not in software:
        raise _NotReady("not-ready", f"it cannot take part in trials: {told.get('said') or 'it tells no torch'!s:.300}; give the Python "
                                     "that has torch: torch_python")
    found = told.get("accelerators")
    count = len(found) if isinstance(found, list) else 0
    backends = told.get("backends")
    needed = "nccl" if device == "cuda" or (device == "auto" and count) else "gloo"
    if not isinstance(backends, list) or needed not in backends:
        raise _NotReady("not-ready", f"its torch {software['torch']!s:.40} has no {needed}; install a build with it")
    if device == "cuda" and count < (per_node or 1):
        raise _NotReady("not-ready", f"torch sees {count} accelerators there, and trials need {per_node or 1}")
    ports = told.get("free_ports")
    return Ready(node.name, _address(node, told), per_node or (count if needed == "nccl" else 1),
                 tuple(port for port in ports if isinstance(port, int) and 0 < port < 65536) if isinstance(ports, list) else (),
                 {name: str(value)[:80] for name, value in software.items() if isinstance(value, str)})


def _address(node: Node, told: Mapping[str, Any]) -> str:
    """By which the others reach it: that of the interface over which ranks talk, else the inventory's."""
    interface = talk.interface(node)
    if not interface:
        return node.address
    found = told.get("addresses")
    held = found.get(interface) if isinstance(found, Mapping) else None
    if held is None:
        names = ", ".join(sorted(map(str, found))) if isinstance(found, Mapping) else "none told"
        raise _NotReady("not-ready", f"it has no interface {interface} (it has {names:.200}); correct the interface in the inventory")
    for each in held if isinstance(held, list) else ():
        if _is_address(each):
            return str(each)
    raise _NotReady("not-ready", f"its interface {interface} has no address")


def _is_address(told: object) -> bool:
    try:
        ipaddress.ip_address(str(told))
        return True
    except ValueError:
        return False


def _unlike(ready: Mapping[str, Ready]) -> Iterator[tuple[str, str]]:
    """Nodes with other software or another number of ranks than most."""
    for name in ALIKE:
        yield from _odd({node: each.software.get(name, "") for node, each in ready.items()}, name)
    yield from _odd({node: str(each.ranks) for node, each in ready.items()}, "accelerators")


def _odd(told: Mapping[str, str], what: str) -> Iterator[tuple[str, str]]:
    """Those unlike the majority; all of them where there is none."""
    counts = Counter(told.values()).most_common()
    if len(counts) < 2:
        return
    usual, most = counts[0]
    settled = most * 2 > len(told)
    for node, value in told.items():
        if not settled:
            yield node, f"{what} {value or 'none'}, and the fleet has no majority ({', '.join(f'{n} × {v or 0}' for v, n in counts):.200})"
        elif value != usual:
            yield node, f"{what} {value or 'none'}, where {most} of {len(told)} nodes have {usual or 'none'}"


def _unresolved(ready: Mapping[str, Ready], told: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Nodes on which a partner's name means nothing, or something else than on most of the others."""
    for partner, each in ready.items():
        if _is_address(each.address):
            continue
        asked = {name: _resolved(told[name], partner) for name in ready if name != partner}
        found = {name: value for name, value in asked.items() if value is not None}
        for name, value in found.items():
            if not value:
                yield name, f"{each.address} does not resolve there; correct its DNS or /etc/hosts"
        for name, why in _odd({name: value for name, value in found.items() if value}, f"{each.address} resolves to"):
            yield name, f"{why}; correct its DNS or /etc/hosts"


def _resolved(told: Mapping[str, Any], partner: str) -> str | None:
    """Addresses of a partner in words; "" for none, None where nobody looked."""
    partners = told.get("partners")
    if not isinstance(partners, Mapping) or partner not in partners:
        return None
    found = partners[partner]
    return ", ".join(sorted(str(each) for each in found if _is_address(each))) if isinstance(found, list) else ""


def ports_of(span: str) -> range:
    """The ports of ``29500-29599``. Raises ValueError.

    >>> ports_of("29500-29599")
    range(29500, 29600)
    """
    found = re.fullmatch(r"(\d{1,5})-(\d{1,5})", span)
    if not found or not 0 < int(found[1]) <= int(found[2]) < 65536:
        raise ValueError(f"ports: {span!r}; expected a range such as 29500-29599")
    return range(int(found[1]), int(found[2]) + 1)
