"""The memory modules by the firmware's own list. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.facts.growth import noted
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Part
from fleetcheck.view import Parts, Reading, View


class Dimm(View):
    """One slot that holds a module."""

    __slots__ = ()
    bytes = Reading(int)
    mtransfers_per_second = Reading(int)


class Dimms:
    """All slots of the board."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        listed = View(data, "dimms").get("slots", list)
        self._gaps = [listed.reason] if isinstance(listed, Absent) else []
        self._slots = [] if isinstance(listed, Absent) else [Dimm(raw, "dimm", _part(raw)) for raw in listed]

    @property
    def filled(self) -> Parts[Dimm]:
        """The slots that hold a module, or do not tell; there is one at least."""
        filled = [slot for slot in self._slots if isinstance(slot.bytes, Absent) or slot.bytes > 0]
        return Parts(filled, "memory modules", len(filled) or 1, self._gaps)

    @property
    def count(self) -> int:
        """How many modules there are."""
        return noted("dimms.count", sum(1 for slot in self.filled if slot.bytes > 0))


def _part(raw: Any) -> Part:
    told = raw if isinstance(raw, Mapping) else {}
    locator, serial = told.get("locator"), told.get("serial")
    name = locator if isinstance(locator, str) else "?"
    return Part("dimm", f"DIMM {name}", name, serial if isinstance(serial, str) else "")


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Dimms:
    """The memory modules as told by the firmware."""
    return Dimms(data)
