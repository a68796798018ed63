"""How a machine's files are written down: text, links, growing text and empty folders."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from fleetcheck.bound import Bound

Entry = str | dict[str, Any] | None
Files = dict[str, Entry]


def tree(folder: str, leaves: Mapping[str, object]) -> Files:
    """Files below a folder, one value a file with its newline; an Entry that is a mapping stays as it is.

    >>> tree("/sys/class/net/eth0", {"mtu": 9000})
    {'/sys/class/net/eth0/mtu': '9000\\n'}
    """
    return {f"{folder}/{name}": value if isinstance(value, dict) else f"{value}\n" for name, value in leaves.items()}


def link(path: str, target: str) -> Files:
    """A symbolic link at path to an absolute target, written relative as sysfs does.

    >>> link("/sys/class/net/eth0/device", "/sys/devices/pci0000:00/0000:00:1f.6")
    {'/sys/class/net/eth0/device': {'link': '../../../devices/pci0000:00/0000:00:1f.6'}}
    """
    return {path: {"link": posixpath.relpath(target, posixpath.dirname(path))}}


def folder() -> Entry:
    """An empty folder."""
    return {"folder": True}


def growing(text: str, start: int, per_second: float) -> dict[str, Any]:
    """Text whose ``{n}`` grows, such as the seconds of /proc/uptime."""
    return {"text": text, "n": {"start": start, "per_second": per_second}}


def settle(bound: Bound | None, usual: float) -> int:
    """The whole number nearest to the usual value that a healthy part may show.

    >>> settle(Bound(low=8, high=8, unit="GPUs", source="datasheet", date="2026-11-30"), 4)
    8
    """
    if bound is None:
        return int(usual)
    value = usual if bound.low is None else max(usual, bound.low)
    return int(value if bound.high is None else min(value, bound.high))


def ranges(numbers: range | list[int]) -> str:
    """A kernel CPU list.

    >>> ranges([0, 1, 2, 8, 9])
    '0-2,8-9'
    """
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
