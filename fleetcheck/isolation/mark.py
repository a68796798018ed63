"""Our own tag in the reason of a drain: by it alone a node is known to be ours to release. Pure."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass

from fleetcheck.records import TIERS

WHY_CHARACTERS = 160
_TAG = re.compile(rf"fleetcheck\[(\d{{8}}-\d{{6}}-[0-9A-Za-z]+) ({'|'.join(TIERS)}) (\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ)\] (.+)\Z")


@dataclass(frozen=True)
class Mark:
    """run, tier: where the node failed; at: when it was isolated; why: in short."""

    run: str
    tier: str
    at: datetime.datetime
    why: str

    def __str__(self) -> str:
        """As it stands in a reason: printable ASCII on one line, without double quotes, which Slurm drops."""
        return f"fleetcheck[{self.run} {self.tier} {self.at:%Y-%m-%dT%H:%M:%SZ}] {plain(self.why)}"


def read(reason: str) -> Mark | None:
    """The mark that a reason is; None for anybody else's words, also such as contain ours.

    >>> read("fleetcheck[20261130-031500-3f2a quick 2026-11-30T03:20:00Z] test_no_gpu_is_lost: GPU 3").tier
    'quick'
    >>> read("fleetcheck is not to release this")
    """
    found = _TAG.match(reason.strip())
    if not found:
        return None
    try:
        at = datetime.datetime.strptime(found[3], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.UTC)
    except ValueError:
        return None
    return Mark(found[1], found[2], at, found[4])


def plain(text: str) -> str:
    r"""What every backend takes as it is.

    >>> plain("GPU 3:\n  \"lost\" \u2014 \x1b[31m" + "x" * 3)
    "GPU 3: 'lost' ? ?[31mxxx"
    """
    words = " ".join(text.split()).replace('"', "'")
    ascii_only = "".join(char if " " <= char <= "~" else "?" for char in words)
    cut = ascii_only if len(ascii_only) <= WHY_CHARACTERS else f"{ascii_only[: WHY_CHARACTERS - 3]}..."
    return cut or "no reason"
