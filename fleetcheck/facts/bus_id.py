"""PCI addresses in one spelling, whoever wrote them. Runs on the controller."""

from __future__ import annotations

import re

_ADDRESS = re.compile(
    r"(?<![0-9a-f:.])(?:(?P<domain>[0-9a-f]{4,8}):)?(?P<bus>[0-9a-f]{2}):(?P<device>[0-9a-f]{2})(?:\.(?P<function>[0-7]))?(?![0-9a-f:])",
    re.IGNORECASE,
)


def bus_id(text: str) -> str:
    """The first PCI address in a text as ``dddd:bb:dd.f``, lower case; empty when there is none.

    >>> bus_id("PCI:0000:3B:00"), bus_id("00000000:3B:00.0"), bus_id("03:00.1"), bus_id("no address")
    ('0000:3b:00.0', '0000:3b:00.0', '0000:03:00.1', '')
    """
    found = _ADDRESS.search(text.lower().removeprefix("pci:"))
    if not found:
        return ""
    domain = int(found["domain"] or "0", 16)
    return f"{domain:04x}:{found['bus']}:{found['device']}.{found['function'] or 0}"
