"""The cables that the inventory names, and what is at their other ends. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.cabled import End, ends_in
from fleetcheck.groups import ByNode, blamed, node_part
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Offender, Part
from fleetcheck.view import Parts, Reading, View

NO_CABLE = ("no carrier", "not present", "Polling", "Sleep", "Disabled")
"""Words of the kernel for a port at whose other end nothing is, or nothing alive."""


class Cable(View):
    """One cable. link: ``up`` or the kernel's word for why not."""

    __slots__ = ("expected",)
    link = Reading(str)
    expected: End

    def __init__(self, raw: object, name: str, expected: End) -> None:
        super().__init__(raw, "cable", Part("cable", name, name))
        self.expected = expected

    @property
    def heard(self) -> list[Mapping[str, Any]]:
        """What is at its other end; NotMeasured where nothing was heard."""
        heard = self.get("neighbours", list)
        found = [each for each in heard if isinstance(each, Mapping) and each.get("switch") and each.get("port")]
        if not found:
            raise NotMeasured(f"{self.label}: its link is up, but no neighbour was heard: no LLDP on the switch, or not yet")
        return found

    @property
    def ends(self) -> str:
        """Where it ends, by the first name of switch and port."""
        return " and ".join(place(each) for each in self.heard)

    def ends_at(self, expected: End) -> bool:
        """Whether it ends in this port, by any of the names that were heard."""
        return any(ends_in(expected, each["switch"], each["port"]) for each in self.heard)

    @property
    def missing(self) -> Concern | None:
        """Why nothing can be at its other end."""
        return Concern(f"{self.link}, should end in {self.expected}") if self.link in NO_CABLE else None


class Cabling(Parts[Cable]):
    """All cables of a node."""

    @property
    def wrong(self) -> list[Offender]:
        """Cables that are missing or end elsewhere; two of this node that end in each other's place are named as swapped."""
        return self.offending(lambda cable: cable.missing or self._elsewhere(cable))

    def _elsewhere(self, cable: Cable) -> Concern | None:
        if cable.ends_at(cable.expected):
            return None
        other = next((each for each in self.present if each is not cable and _swapped(cable, each)), None)
        if other is not None:
            return Concern(f"ends in {cable.ends}, {other.label} in {other.ends}: these two cables are swapped")
        return Concern(f"ends in {cable.ends}, should end in {cable.expected}")


def place(neighbour: Mapping[str, Any]) -> str:
    """A neighbour in words: ``leaf1/swp3``."""
    return f"{neighbour['switch'][0]}/{neighbour['port'][0]}"


def _swapped(one: Cable, other: Cable) -> bool:
    """Whether each ends where the other should, and not where it should itself."""
    try:
        return one.ends_at(other.expected) and other.ends_at(one.expected) and not one.ends_at(one.expected)
    except NotMeasured:
        return False


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Cabling:
    """One part per cable of the inventory; skips where it names none."""
    if not node.cables:
        pytest.skip("the inventory names no cables of this node")
    ends = data.get("ends")
    raw = ends if isinstance(ends, Mapping) else {}
    views = [Cable(raw.get(name, {"absent": "the node told nothing of it"}), name, expected) for name, expected in node.cables.items()]
    return Cabling(views, "cables", len(views))


def swapped_between(cablings: ByNode) -> list[Offender]:
    """Pairs of cables of two nodes that end in each other's place: one finding a node, each naming both ends.

    A wrong cable whose counterpart is not seen is the matter of its own node alone.
    """
    told = {node.name: (node, [cable for cable in cabling.present if _heard(cable)]) for node, cabling in cablings}
    if sum(1 for _, cables in told.values() if cables) < 2:
        raise NotMeasured(f"fewer than two of {len(told)} nodes heard what is at the other end of their cables")
    stray = [(node, cable) for node, cables in told.values() for cable in cables if not cable.ends_at(cable.expected)]
    return blamed([_named(one, other) for one in stray for other in stray if one[0] is not other[0] and _swapped(one[1], other[1])])


def _heard(cable: Cable) -> bool:
    """Whether it is known where it ends."""
    try:
        return bool(cable.heard)
    except NotMeasured:
        return False


def _named(one: tuple[Node, Cable], other: tuple[Node, Cable]) -> Offender:
    (node, cable), (partner, its) = one, other
    return Offender(node_part(node), (
        f"{node.name} {cable.label} ends in {cable.ends} and {partner.name} {its.label} in {its.ends}: these two cables are swapped"))


