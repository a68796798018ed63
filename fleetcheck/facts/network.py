"""The Ethernet interfaces a profile names. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.facts.growth import Growth
from fleetcheck.facts.training import settled
from fleetcheck.inventory import Node
from fleetcheck.profile import LinkProfile, Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts, Reading, View

BAD_FRAMES = ("rx_crc_errors", "rx_frame_errors", "rx_length_errors", "tx_carrier_errors")
"""Frames damaged on the wire; drops and overruns are congestion."""
PHY_ERRORS = frozenset(
    {
        "rx_crc_errors_phy",  # mlx5
        "rx_symbol_err_phy",
        "rx_pcs_symbol_err_phy",
        "rx_fcs_err_frames",  # bnxt_en
        "rx_pcs_symbol_err",
        "rx_fec_uncorrectable_blocks",
        "port.rx_crc_errors",  # i40e
        "rx_crc_errors.nic",  # ice
        "rx_crc_errors",  # ixgbe, igb, mlx4
        "rx_symbol_errors",
        "rx_fcs_errors",  # tg3
    }
)
"""What FEC could not put right, by the names of several drivers' ``ethtool -S``. Corrected bits are the normal life of a PAM4 link."""
DROPS = ("rx_missed_errors", "rx_fifo_errors")


class Link(View):
    """One interface."""

    __slots__ = ("boot", "growth", "phy")
    operstate = Reading(str)
    carrier = Reading(int)
    speed_mbits_per_second = Reading(int)
    duplex = Reading(str)
    mtu_bytes = Reading(int)
    carrier_changes = Reading(int)
    driver = Reading(str)

    def __init__(self, raw: object, name: str, data: Mapping[str, Any]) -> None:
        part = Part("nic", name, name)
        super().__init__(raw, "link", part)
        self.boot = View(data, "network", part)
        self.growth = Growth(data.get("counters"), "link.counters", part)
        self.phy = Growth(data.get("driver_counters"), "link.driver_counters", part)

    @property
    def half_duplex(self) -> bool:
        """Whether only one end may speak at a time."""
        if self.duplex not in ("full", "half", "unknown"):
            raise NotMeasured(f"{self.label}: no such duplex: {self.duplex!r:.60}")
        return self.duplex == "half"

    @property
    def down(self) -> Concern | None:
        """Why it carries nothing. Some drivers never leave operstate ``unknown``; their carrier speaks."""
        state = self.operstate
        if state in ("up", "unknown") and self.carrier == 1:
            return None
        settled(self.boot, f"link {self.label}")
        return Concern(f"operstate {state}, no carrier" if state in ("up", "unknown") else f"operstate {state}")

    def damaged_per_second(self) -> float:
        """Frames damaged on the wire, all kinds together."""
        return sum(self.growth.per_second(self.label, name) for name in BAD_FRAMES)

    def dropped_per_second(self) -> float:
        """Frames the machine did not fetch in time."""
        return sum(self.growth.per_second(self.label, name) for name in DROPS)

    def phy_errors_per_second(self) -> float:
        """Errors of the physical layer by the driver's own counters; 0 for a driver that has none of them."""
        return sum(self.phy.per_second(self.label, name) for name in self.phy.names(self.label) if name in PHY_ERRORS)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Link]:
    """One part per interface of the profile; skips where it names none."""
    if profile.links is None:
        pytest.skip(f"profile {profile.name} names no network interfaces")
    return Parts(
        [Link(_interface(data, name), name, data) for name in profile.links.names], "links", len(profile.links.names)
    )


class Member(View):
    """One interface of a bond."""

    __slots__ = ()
    mii_status = Reading(str)

    @property
    def down(self) -> Concern | None:
        """Why its bond goes without it."""
        return None if self.mii_status == "up" else Concern(f"MII status {self.mii_status}: its bond goes without it")


def build_bonds(data: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Member]:
    """The members of all bonds; skips where there is none."""
    bonds = data.get("bonds")
    if not isinstance(bonds, Mapping):
        return Parts([], "members of bonds", unreadable=["network.bonds is missing from the answer"])
    if not bonds:
        pytest.skip("the node bonds no interfaces")
    rows = [(bond, name, status) for bond, told in bonds.items() if isinstance(told, Mapping) and "absent" not in told
            for name, status in told.items()]
    gaps = [f"{bond}: no member was told" for bond, told in bonds.items() if not told or "absent" in told]
    views = [Member({"mii_status": status}, "bond", Part("nic", f"{name} of {bond}", name)) for bond, name, status in rows]
    return Parts(views, "members of bonds", unreadable=gaps)


def expected(profile: Profile) -> LinkProfile:
    """What the profile expects of its interfaces."""
    assert profile.links is not None
    return profile.links


def _interface(data: Mapping[str, Any], name: str) -> Any:
    found = data.get("interfaces")
    if isinstance(found, Mapping) and "absent" not in found and name not in found and found:
        return {"operstate": "not present"}  # the list was read, and the interface is not in it
    return found.get(name) if isinstance(found, Mapping) and "absent" not in found else found
