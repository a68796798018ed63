"""One node of a profile: what it shares with its peers, who it is, and when it booted."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.sandbox.machine.base import Base
from fleetcheck.sandbox.machine.identity import Identity
from fleetcheck.sandbox.machine.moment import Moment


@dataclass(frozen=True)
class GpuSlot:
    """One GPU of one node. bus_id as sysfs writes it, ``0000:1b:00.0``; minor as in /dev/nvidia0."""

    index: int
    bus_id: str
    uuid: str
    serial: str
    minor: int

    @property
    def nvml_bus_id(self) -> str:
        """As NVML writes it: eight digits of domain, capitals."""
        return f"0000{self.bus_id}".upper()

    @property
    def function(self) -> tuple[int, int, int]:
        """Domain, bus and device number."""
        domain, bus, rest = self.bus_id.split(":")
        return int(domain, 16), int(bus, 16), int(rest.partition(".")[0], 16)


@dataclass(frozen=True)
class Node:
    """All that a node's answers are made from."""

    base: Base
    identity: Identity
    moment: Moment
    slots: tuple[GpuSlot, ...]

    @property
    def name(self) -> str:
        """The host name."""
        return self.identity.name


def node(base: Base, identity: Identity, moment: Moment) -> Node:
    """The node with its GPU slots."""
    places = base.gpus.places[:base.gpus.count] if base.gpus else ()
    slots = tuple(GpuSlot(index, place.address, identity.gpu_uuid(index), identity.gpu_serial(index), index) for index,
                  place in enumerate(places))
    return Node(base, identity, moment, slots)
