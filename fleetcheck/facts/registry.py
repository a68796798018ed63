"""Every fact a check may ask for: fixture name, the collector it comes from, and how its view is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fleetcheck.inventory import Node
from fleetcheck.profile import Profile

Build = Callable[[Mapping[str, Any], Profile, Node], Any]


@dataclass(frozen=True)
class Fact:
    """name: the fixture; collector: whose Answer.data build() receives; probe: the round trip that fetches it."""

    name: str
    collector: str
    build: Build
    probe: str = "facts-fast"


FACTS: tuple[Fact, ...] = ()
