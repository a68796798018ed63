"""A node of the fleet as the inventory describes it. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fleetcheck.cabled import End

_EMPTY: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class SshSettings:
    """How to log in to a node. None: what ~/.ssh/config says. Paths are absolute; options are those of ssh_config."""

    user: str | None = None
    port: int | None = None
    identity_file: Path | None = None
    known_hosts: Path | None = None
    jump: str | None = None
    config_file: Path | None = None
    options: Mapping[str, str] = field(default_factory=lambda: _EMPTY)


@dataclass(frozen=True)
class Node:
    """A place in the fleet where a machine stands. serials: what it is expected to be, such as ``{"chassis": "…"}``; cables: interface or
    RDMA device → where its cable should end.
    """

    name: str
    address: str
    profile: str
    labels: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    ssh: SshSettings = SshSettings()
    state: str = "in-service"
    until: datetime.date | None = None
    note: str = ""
    transport: str = "auto"
    become: tuple[str, ...] = ()
    torch_python: str | None = None
    scratch: str | None = None
    serials: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    cables: Mapping[str, End] = field(default_factory=dict)
    bmc: Mapping[str, Any] | None = None
    claim: str | None = None
    load: Mapping[str, Any] | None = None
    interconnect: Mapping[str, Any] | None = None
    groups: tuple[str, ...] = ()

    @property
    def in_service(self) -> bool:
        """Whether the node is to be contacted; the others are only listed."""
        return self.state == "in-service"
