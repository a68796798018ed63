"""What ``ibstat`` printed, also where it stopped half-way. Runs on the controller; pure.

ibstat prints good blocks and dies at the first device whose folder is gone: what was printed stands, what was expected and is missing is
not healthy. So the set of devices is compared with the expected one, and the last words and exit status are kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fleetcheck.text import plain

_DEVICE = re.compile(r"^\s*CA '([^']+)'", re.MULTILINE)
_PORT = re.compile(r"^\s*Port (\d+):\s*$", re.MULTILINE)
_ROW = re.compile(r"^\s*([A-Z][\w ]*?)\s*:\s*(\S.*?)\s*$", re.MULTILINE)
_PANIC = re.compile(r"ibpanic: .*?'(?P<device>[^']+)' failed: .*|ibpanic: .*")


@dataclass(frozen=True, slots=True)
class Listing:
    """ports: {device: {port: {row name: value}}}; panic: ibstat's last words, and the device they name."""

    ports: Mapping[str, Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    panic: str = ""
    missing: str = ""


def parse(text: str) -> Listing:
    """The blocks, each with its ports, and how ibstat ended.

    >>> parse("CA 'mlx5_0'\\n\\tPort 1:\\n\\t\\tState: Active\\nibpanic: [7] main: stat of IB device 'mlx5_1' failed: gone").missing
    'mlx5_1'
    """
    text = plain(text)
    panic = _PANIC.search(text)
    body = text[: panic.start()] if panic else text
    pieces = _DEVICE.split(body)[1:]
    blocks = dict(zip(pieces[::2], pieces[1::2], strict=True))
    return Listing({name: _ports(block) for name, block in blocks.items()}, panic[0] if panic else "",
                   (panic["device"] or "") if panic else "")


def _ports(block: str) -> dict[str, dict[str, str]]:
    pieces = _PORT.split(block)[1:]
    return {port: dict(_ROW.findall(rows)) for port, rows in zip(pieces[::2], pieces[1::2], strict=True)}


def judge(listing: Listing, expected: Sequence[str], status: int | None = None) -> dict[str, tuple[str, str]]:
    """Outcome and words by expected device: passed, failed, or error where nothing was told of it."""
    return {name: _judged(name, listing, status) for name in expected}


def _judged(name: str, listing: Listing, status: int | None) -> tuple[str, str]:
    if name == listing.missing:
        return "failed", listing.panic
    if name not in listing.ports:
        how = listing.panic or (f"exit status {status}" if status else "" if listing.ports or status == 0 else "it listed no device at all")
        return ("error", f"ibstat stopped before it: {how}") if how else ("failed", "ibstat does not list it")
    ports = listing.ports[name] or {"1": {}}
    judged = [_port(rows) for rows in ports.values() if len(ports) == 1 or not _switched_off(rows)] or [_port(next(iter(ports.values())))]
    return next((each for outcome in ("failed", "error") for each in judged if each[0] == outcome), ("passed", ""))


def _switched_off(rows: Mapping[str, str]) -> bool:
    """Of a card's several ports one that somebody disabled is not in use; a cable that broke leaves it polling."""
    return (rows.get("State"), rows.get("Physical state")) == ("Down", "Disabled")


def _port(rows: Mapping[str, str]) -> tuple[str, str]:
    state, physical = rows.get("State", ""), rows.get("Physical state", "")
    if not state or state == "..." or not physical or physical == "...":
        return "error", f"ibstat tells no state of its port: {dict(rows)!r:.120}"
    return ("passed", "") if (state, physical) == ("Active", "LinkUp") else ("failed", f"state {state}, {physical}")
