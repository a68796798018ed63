"""The mounts a profile promises, and what fstab wants mounted. Runs on the controller."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.facts.defaults import limit
from fleetcheck.facts.growth import noted
from fleetcheck.inventory import Node
from fleetcheck.profile import FilesystemProfile, Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Nested, Parts, Reading, View

NOT_MOUNTED_AT_BOOT = ("noauto", "x-systemd.automount", "nofail")
STALE = {errno.ESTALE, errno.ENOTCONN, errno.EHOSTDOWN, errno.EIO}
KERNELS_OWN = ("swap", "proc", "sysfs", "tmpfs", "devpts", "none", "ignore")


class Room(View):
    """What statvfs told of a mount."""

    __slots__ = ()
    total_bytes = Reading(int)
    free_bytes = Reading(int)
    available_bytes = Reading(int)
    inodes = Reading(int)
    inodes_available = Reading(int)
    flags = Reading(int)

    @property
    def free_percent(self) -> float:
        """As df counts: of what users may use, blocks kept for root left out."""
        used = self.total_bytes - self.free_bytes
        return self._share("free_percent", self.available_bytes, used + self.available_bytes)

    @property
    def inodes_free_percent(self) -> float:
        """Of all inodes; a filesystem that makes them as needed reports none, and never runs out."""
        total = self.inodes
        return (
            self._share("inodes_free_percent", self.inodes_available, total)
            if total
            else noted(f"{self.where}.inodes_free_percent", 100.0, self.part)
        )

    def _share(self, name: str, some: int, whole: int) -> float:
        return noted(f"{self.where}.{name}", 100 * some / whole if whole else 0.0, self.part)


class Mount(View):
    """One mount of the profile. expected: its section; mounted: whether /proc/mounts lists it."""

    __slots__ = ("expected",)
    mounted = Reading(bool)
    type = Reading(str)
    options = Reading(list)
    room = Nested(Room)

    def __init__(self, raw: Mapping[str, Any], expected: FilesystemProfile) -> None:
        super().__init__(raw, "filesystem", Part("filesystem", expected.mount, expected.mount))
        self.expected = expected

    @property
    def silent(self) -> Concern | None:
        """Why the mount does not answer: it hangs, or its server forgot it."""
        told = self.room.raw
        if isinstance(told, Absent):
            bool(told)  # not measured
        hung, code = (told.get("hung_seconds"), told.get("errno")) if isinstance(told, Mapping) else (None, None)
        if hung is not None:
            return Concern(f"asking for its size did not end within {hung} s")
        if code in STALE:
            return Concern(
                f"does not answer: {told.get('error')}" if isinstance(told, Mapping) else "", action="fix-config"
            )
        self.room.get("total_bytes", int) + 0  # not measured when there is neither an answer nor a reason
        return None

    @property
    def read_only(self) -> bool:
        """Whether writing is impossible although the profile wants it possible: by its options, or by the kernel's word now."""
        if not self.expected.writable:
            return False
        said = "ro" in self.options or bool(self.room.flags & os.ST_RDONLY)
        return noted("filesystem.read_only", said, self.part)

    @property
    def wrong_type(self) -> bool:
        """Whether it is of none of the types the profile lists."""
        return bool(self.expected.types) and self.type not in self.expected.types

    @property
    def inodes_short(self) -> bool:
        """Whether inodes run out, by the profile's limit if it has one."""
        return (
            self.expected.inodes_free_percent is not None
            and self.room.inodes_free_percent not in self.expected.inodes_free_percent
        )


class Wanted(View):
    """One line of fstab that boot should have mounted."""

    __slots__ = ()
    mounted = Reading(bool)


class Filesystems(Parts[Mount]):
    """The profile's mounts; ``wanted`` are those of fstab. answering, disks: with them the node's other mounts over a network, and
    the other drives that fstab wants writable, which the profile need not name."""

    def __init__(self, mounts: list[Mount], wanted: Parts[Wanted], others: Callable[[str], Parts[Mount]]) -> None:
        super().__init__(mounts, "mounts", len(mounts))
        self.wanted = wanted
        self._others = others

    @property
    def answering(self) -> Parts[Mount]:
        """All that should answer."""
        return self._with("remote", "disks")

    @property
    def disks(self) -> Parts[Mount]:
        """All that should be writable and have room."""
        return self._with("disks")

    def _with(self, *kinds: str) -> Parts[Mount]:
        others = [self._others(kind) for kind in kinds]
        views = [*self.present, *(mount for each in others for mount in each.present)]
        return Parts(views, "mounts", unreadable=[gap for each in others for gap in each.unreadable])


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Filesystems:
    """One part per mount of the profile, and the node's others."""
    listed, room = data.get("mounts"), data.get("room")
    mounts = [Mount(_mount(each.mount, listed, room), each) for each in profile.filesystems]
    return Filesystems(mounts, _wanted(data.get("fstab"), listed), lambda kind: _others(data, kind, profile))


def _others(data: Mapping[str, Any], kind: str, profile: Profile) -> Parts[Mount]:
    """Mounts of one kind that the profile does not name; those that may not be asked are left out: nobody promised that they may."""
    named, room = {each.mount for each in profile.filesystems}, data.get("room")
    listed, told = data.get(kind), room if isinstance(room, Mapping) else {}
    places = listed if isinstance(listed, list) else [listed]
    gaps = [f"filesystems.{kind}: not a mount: {place!r:.60}" for place in places if not isinstance(place, str)]
    least = limit(profile, "other_mounts_free_percent")
    views = [
        Mount(_mount(place, data.get("mounts"), room), FilesystemProfile(mount=place, free_percent=least, inodes_free_percent=least))
        for place in dict.fromkeys(place for place in places if isinstance(place, str))
        if place not in named and not _refused(told.get(place))
    ]
    return Parts(views, "mounts", unreadable=gaps)


def _refused(told: Any) -> bool:
    """Whether the kernel said that this user may not ask, or knows no such place any more."""
    return isinstance(told, Mapping) and isinstance(told.get("errno"), int) and told["errno"] not in STALE


def _mount(mount: str, listed: Any, room: Any) -> dict[str, Any]:
    told = room.get(mount) if isinstance(room, Mapping) else None
    said: dict[str, Any] = {"room": told} if told is not None else {}
    if not isinstance(listed, list) or not listed or not all(map(_whole, listed)):
        reason = listed.get("absent") if isinstance(listed, Mapping) else "not a list of mounts: /proc/mounts"
        return {**said, **{key: {"absent": str(reason)} for key in ("mounted", "type", "options")}}
    row = next(
        (each for each in reversed(listed) if each["mount"] == mount), None
    )  # the latest mount over a place is the one seen
    if row is None:
        return {**said, "mounted": False, "type": {"absent": "not mounted"}, "options": {"absent": "not mounted"}}
    return {**said, "mounted": True, "type": row["type"], "options": row["options"]}


def _whole(row: Any) -> bool:
    if not isinstance(row, Mapping) or not isinstance(row.get("options"), list):
        return False
    return all(isinstance(word, str) for word in (row.get("mount"), row.get("type"), *row["options"]))


def _wanted(fstab: Any, listed: Any) -> Parts[Wanted]:
    for told in (fstab, listed):
        if not isinstance(told, list) or not all(map(_whole, told)):
            said = told.get("absent") if isinstance(told, Mapping) else None
            return Parts([], "mounts of fstab", unreadable=[str(said or "fstab or the mounts were not told in full")])
    places = {row["mount"] for row in listed}
    wanted = [row["mount"] for row in fstab if _at_boot(row)]
    views = [
        Wanted({"mounted": mount in places or mount.rstrip("/") in places}, "fstab", Part("filesystem", mount, mount)) for mount in wanted
    ]
    return Parts(views, "mounts of fstab")


def _at_boot(row: Mapping[str, Any]) -> bool:
    special = row["type"] in KERNELS_OWN or row["mount"] in KERNELS_OWN
    return not special and not any(option in NOT_MOUNTED_AT_BOOT for option in row["options"])
