"""Drives and their SMART health, and the software arrays made of them. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.growth import noted
from fleetcheck.facts.hardware_limits import exactly
from fleetcheck.facts.section import Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Nested, Parts, Reading, View

TEMPERATURE_BIT = 0x02
WARNINGS = {
    0x01: "spare blocks run out", 0x02: "too hot or too cold", 0x04: "reliability is degraded", 0x08: "read-only",
    0x10: "the cache's power backup failed", 0x20: "the persistent memory region is unreliable",
}
"""Critical Warning of the SMART log (NVM Express Base Specification 2.0, figure 207)."""
OVER_NETWORK = ("tcp", "rdma", "fc", "loop")
UNREPORTED = "not reported by this drive"


class Health(Section):
    """The SMART log, as far as the drive keeps one."""

    __slots__ = ()
    passed = Reading(bool)
    critical_warning = Reading(int)
    percentage_used = Reading(int)
    available_spare_percent = Reading(int)
    spare_threshold_percent = Reading(int)
    media_errors = Reading(int)
    temperature_celsius = Reading(int)
    unreadable_sectors = Reading(int)

    @property
    def warnings(self) -> Concern | None:
        """What the drive warns of. Heat passes by and says nothing of the medium."""
        bits = self.critical_warning
        said = [text for bit, text in WARNINGS.items() if bits & bit]
        if not bits:
            return None
        words = f"critical warning 0x{bits:02x}: {', '.join(said) or 'a bit of no known meaning'}"
        return Concern(words, "warn", "observe") if bits == TEMPERATURE_BIT else Concern(words)

    @property
    def spare_short(self) -> Concern | None:
        """Spare blocks below the drive's own threshold."""
        spare, least = self.available_spare_percent, self.spare_threshold_percent
        return Concern(f"{spare} % of the spare blocks are left, the drive's own threshold is {least} %") if spare < least else None


class Drive(Section):
    """One drive."""

    __slots__ = ()
    state = Reading(str)
    width = Reading(int)
    health = Nested(Health)

    @property
    def not_live(self) -> Concern | None:
        """Why the kernel cannot use the controller. Its firmware is noted beside it, for the fleet's nodes to be compared by."""
        self.get("firmware", str)
        return None if self.state == "live" else Concern(f"the controller is {self.state}, not live")


class Drives:
    """The drives of a node."""

    def __init__(self, nvme: Parts[Drive], disks: Parts[Drive]) -> None:
        self._nvme = nvme
        self._disks = disks

    @property
    def nvme(self) -> Parts[Drive]:
        """NVMe drives on PCIe; skips the check on a node that has none and whose profile promises none."""
        if not self._nvme.present and not self._nvme.gaps():
            pytest.skip("the node has no NVMe drive")
        return self._nvme

    @property
    def nvme_count(self) -> int:
        """How many NVMe drives the kernel lists; NotMeasured when the list could not be read."""
        if self._nvme.unreadable:
            raise NotMeasured("; ".join(self._nvme.unreadable))
        return noted("drives.nvme_count", len(self._nvme.present))

    @property
    def disks(self) -> Parts[Drive]:
        """SATA and SAS drives; skips the check on a node that has none."""
        if not self._disks.present and not self._disks.unreadable:
            pytest.skip("the node has no SATA or SAS drive")
        return self._disks

    @property
    def sector_counting_disks(self) -> Parts[Drive]:
        """Those that count unreadable sectors."""
        return self._able("unreadable_sectors", "count unreadable sectors")

    @property
    def assessing_disks(self) -> Parts[Drive]:
        """Those that assess themselves; the virtual disk of a hypervisor has no SMART."""
        return self._able("passed", "assess themselves")

    def _able(self, leaf: str, what: str) -> Parts[Drive]:
        """The disks that do not say of themselves that they cannot; skips where none of them can."""
        able = [disk for disk in self.disks.present if UNREPORTED not in str(disk.health.code(leaf))]
        if self.disks.present and not able:
            pytest.skip(f"no drive of this node can {what}")
        return Parts(able, f"drives that {what}", unreadable=self.disks.unreadable)


class Array(Section):
    """One software array."""

    __slots__ = ()
    activity = Reading(str)
    level = Reading(str)
    progress = Reading(str)
    shape = Reading(str)

    @property
    def trouble(self) -> Concern | None:
        """Why it is not whole. One that is being rebuilt was seen to: watch it."""
        if self.activity != "active":
            return Concern(f"{self.activity}: its members do not make an array")
        if self.level in ("raid0", "linear"):
            return self._failed()
        shape, members = self.shape, " ".join(self.texts("members"))
        if "_" not in shape:
            return self._failed()
        if self.progress in ("recovery", "reshape"):
            return Concern(f"[{shape}] of {members}, {self.progress} under way", "warn", "observe")
        return Concern(f"[{shape}]: a member is gone, {members} {'is' if members.count(' ') == 0 else 'are'} listed")

    def _failed(self) -> Concern | None:
        failed = self.texts("failed")
        return Concern(f"member {', '.join(failed)} failed") if failed else None


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Drives:
    """The drives as told by the node; NVMe over a network are no drives of the node."""
    nvme, disks = (_listed(data, kind) for kind in ("nvme", "disks"))
    local = {name: raw for name, raw in nvme.items() if not isinstance(raw, Mapping) or raw.get("transport") not in OVER_NETWORK}
    return Drives(
        Parts(_views(local, "nvme"), "NVMe drives", exactly(profile, "nvme_count"), _gaps(data, "nvme")),
        Parts(_views(disks, "disk"), "SATA and SAS drives", unreadable=_gaps(data, "disks")),
    )


def build_arrays(data: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Array]:
    """The software arrays; skips where the profile promises none and there is none."""
    listed = View(data, "drives").get("arrays", list)
    promised = profile.limits.get("raid_arrays")
    none = isinstance(listed, Absent) and "no such file" in listed.reason
    if promised is None and (none or listed == []):
        pytest.skip("the node has no software array")
    if isinstance(listed, Absent):
        return Parts([], "software arrays", unreadable=[listed.reason])
    views = [Array(each, "array", _array_part(each)) for each in listed]
    least = int(promised.low or 0) if promised else 0
    return Parts(views, "software arrays", None if len(views) >= least else least)


def _array_part(raw: Any) -> Part:
    name = str(raw.get("name", "?")) if isinstance(raw, Mapping) else "?"
    return Part("array", f"array {name}", name)


def _listed(data: Mapping[str, Any], kind: str) -> dict[str, Any]:
    found = data.get(kind)
    return dict(found) if isinstance(found, Mapping) and set(found) != {"absent"} else {}


def _gaps(data: Mapping[str, Any], kind: str) -> list[str]:
    found = View(data, "drives").get(kind, dict)
    return [found.reason] if isinstance(found, Absent) else []


def _views(raws: Mapping[str, Any], kind: str) -> list[Drive]:
    return [Drive(raw, kind, _part(name, raw, kind)) for name, raw in raws.items()]


def _part(name: str, raw: Any, kind: str) -> Part:
    told = raw if isinstance(raw, Mapping) else {}
    serial, slot = told.get("serial"), told.get("pci")
    return Part(kind, name, slot if isinstance(slot, str) else name, serial if isinstance(serial, str) else "")
