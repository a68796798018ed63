"""Where a cable of a node should end: the inventory's words for it, filled in for each node. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_SWITCH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}\Z")
_PORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,59}\Z")
_WORD = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class End:
    """A port of a switch; an empty port: any of that switch."""

    switch: str
    port: str = ""

    def __str__(self) -> str:
        return f"{self.switch}/{self.port}" if self.port else self.switch


def end(text: str) -> End:
    """``leaf1/Ethernet1/7`` as switch and port. Raises ValueError.

    >>> end("leaf1/Ethernet1/7")
    End(switch='leaf1', port='Ethernet1/7')
    """
    switch, slash, port = text.partition("/")
    if not _SWITCH.match(switch) or (slash and not _PORT.match(port)):
        raise ValueError(f"{text!r:.60} is no end of a cable; expected SWITCH/PORT such as leaf1/Ethernet1/7, or SWITCH alone")
    return End(switch, port)


def filled(text: str, name: str, labels: Mapping[str, str]) -> str:
    """``{leaf}/swp{slot}`` with the node's own labels. Raises ValueError for a label that the node lacks."""
    known = {"name": name, **labels}

    def value(found: re.Match[str]) -> str:
        if found[1] not in known:
            raise ValueError(f"{text!r:.60}: node {name} has no label {found[1]!r:.40}; expected one of {', '.join(known)}")
        return known[found[1]]

    return _WORD.sub(value, text)


def same_switch(one: str, other: str) -> bool:
    """Whether two names are one switch's: case does not count, nor a domain that only one of them has.

    >>> same_switch("LEAF1.example.com", "leaf1"), same_switch("leaf1.a", "leaf1.b")
    (True, False)
    """
    one, other = one.lower(), other.lower()
    short = min(one, other, key=len)
    return one == other or ("." not in short and max(one, other, key=len).startswith(f"{short}."))


def ends_in(expected: End, switches: Iterable[str], ports: Iterable[str]) -> bool:
    """Whether a neighbour, by any of its names, is the switch and the port."""
    right = not expected.port or expected.port.lower() in {port.lower() for port in ports}
    return right and any(same_switch(expected.switch, switch) for switch in switches)
