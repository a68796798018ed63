"""Whether the machine that answered is the one the inventory means."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from fleetcheck.nodes import Node
from fleetcheck.quoting import quoted
from fleetcheck.records import Answer
from fleetcheck.transport import TransportError


def confirm(node: Node, answers: Mapping[str, Answer]) -> None:
    """Raises TransportError (wrong-machine) when name or serial of the answering machine contradicts the inventory."""
    runtime = answers["runtime"].data
    serials = _serials(runtime)
    for kind, expected in node.serials.items():
        if kind in serials and serials[kind].casefold() != expected.casefold():
            raise _wrong(node, f"its {kind} serial is {quoted(serials[kind], 60)}, expected {expected!r}",
                         f"correct serials.{kind}, if the machine there was exchanged on purpose")
    if any(kind in serials for kind in node.serials) and "hostname" not in node.labels:
        return
    hostname = runtime.get("hostname")
    if node.transport != "local" and isinstance(hostname, str) and short(hostname) not in names(node):
        raise _wrong(node, f"it calls itself {quoted(hostname, 80)}, expected {' or '.join(sorted(names(node)))}",
                     "set the label hostname, if that is its right name")


def names(node: Node) -> frozenset[str]:
    """What the machine may call itself, short and in lower case: its label ``hostname``, else its name or address."""
    if node.labels.get("hostname"):
        return frozenset({short(node.labels["hostname"])})
    return frozenset({short(node.name)} | ({short(node.address)} if not is_ip(node.address) else set()))


def short(hostname: str) -> str:
    """A host name without its domain.

    >>> short("Rack12-N07.example.org.")
    'rack12-n07'
    """
    return hostname.partition(".")[0].casefold()


def is_ip(address: str) -> bool:
    """Whether an address is numeric."""
    try:
        ipaddress.ip_address(address.strip("[]").partition("%")[0])
    except ValueError:
        return False
    return True


def _serials(runtime: Mapping[str, Any]) -> dict[str, str]:
    """The serials that could be read."""
    serials = runtime.get("serials")
    found = serials.items() if isinstance(serials, Mapping) else ()
    return {kind: value for kind, value in found if isinstance(value, str) and value}


def _wrong(node: Node, found: str, remedy: str) -> TransportError:
    return TransportError("wrong-machine", f"another machine answers at {node.address}: {found}; nothing of it was judged. "
                                           f"Correct its address in the inventory or the DNS, or {remedy}")
