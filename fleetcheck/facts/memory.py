"""The memory of a node: size, swap, error counts, fragmentation. Runs on the controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.growth import Growth, measured, noted
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Part
from fleetcheck.view import Parts, Reading, View

HIGH_ORDER = 8


class Module(View):
    """A DIMM, or what its memory controller counted without naming one. ce: corrected, ue: uncorrected errors."""

    __slots__ = ("growth", "path")
    ce_count = Reading(int)
    ue_count = Reading(int)

    def __init__(self, raw: object, growth: Growth, path: tuple[str, ...], part: Part) -> None:
        super().__init__(raw, "edac", part)
        self.growth = Growth(growth.raw, "edac", part)
        self.path = path

    @property
    def corrected_per_second(self) -> float:
        """Growth of the corrected errors."""
        return self.growth.per_second(*self.path, "ce_count")


class Swap(View):
    """A swap area."""

    __slots__ = ()
    name = Reading(str)
    bytes = Reading(int)

    @property
    def on_disk(self) -> bool:
        """Whether it is more than compressed memory (zram)."""
        return not measured(self.name).startswith(("/dev/zram", "zram"))


class Memory(View):
    """All memory."""

    __slots__ = ()

    @property
    def total_bytes(self) -> int:
        """MemTotal."""
        return self._size("MemTotal")

    @property
    def poisoned_bytes(self) -> int:
        """HardwareCorrupted: pages the kernel took out of use after uncorrected errors."""
        return self._size("HardwareCorrupted")

    @property
    def counts_poison(self) -> bool:
        """Whether this kernel tells how much it took out of use; NotMeasured when it told nothing."""
        bool(self.total_bytes)
        return "HardwareCorrupted" in self.raw["info_bytes"]

    @property
    def huge_pages_share(self) -> float:
        """How much of all memory is set aside for huge pages, used or not; older kernels tell those of the default size alone."""
        told = self.raw.get("info_bytes") if isinstance(self.raw, Mapping) else None
        whole = isinstance(told, Mapping) and "Hugetlb" in told
        pages = self._size("HugePages_Total")
        reserved = self._size("Hugetlb") if whole else pages * self._size("Hugepagesize") if pages else 0
        return noted("memory.huge_pages_share", reserved / self.total_bytes)

    def _size(self, name: str) -> int:
        raw = self.raw.get("info_bytes") if isinstance(self.raw, Mapping) else self.raw
        size: int = View(raw, "memory.info_bytes").get(name, int)
        return size

    def swaps(self) -> Parts[Swap]:
        """Swap areas in use."""
        listed = self.get("swaps", list)
        if isinstance(listed, Absent):
            return Parts([], "swap areas", unreadable=[listed.reason])
        return Parts([Swap(each, "swap") for each in listed], "swap areas")

    @property
    def high_order_blocks(self) -> int:
        """Free blocks of order 8 or more in all zones Normal."""
        zones = self.get("buddy", list)
        if isinstance(zones, Absent):
            raise NotMeasured(zones.reason)
        return noted("memory.high_order_blocks", sum(sum(free[HIGH_ORDER:]) for free in _normal(zones)))

    def modules(self) -> Parts[Module]:
        """Every DIMM that counts errors, and each controller as a whole."""
        growth = Growth(self.raw.get("edac") if isinstance(self.raw, Mapping) else self.raw, "edac")
        try:
            return Parts(list(_modules(growth)), "memory modules and controllers")
        except NotMeasured as unmeasured:
            return Parts([], "memory modules and controllers", unreadable=[str(unmeasured)])


def _normal(zones: list[Any]) -> Iterator[list[int]]:
    for zone in zones:
        free = zone.get("free") if isinstance(zone, Mapping) else None
        if not isinstance(free, list) or not all(isinstance(count, int) for count in free):
            raise NotMeasured(f"memory.buddy: not a zone: {zone!r:.80}")
        if zone.get("zone") == "Normal":
            yield free


def _modules(growth: Growth) -> Iterator[Module]:
    for controller in growth.names():
        whole = growth.raw["second"][controller] if isinstance(growth.raw, Mapping) else {}
        yield Module(whole, growth, (controller,), Part("dimm", f"memory controller {controller}", controller))
        dimms = whole.get("dimms") if isinstance(whole, Mapping) else None
        if not isinstance(dimms, Mapping):
            raise NotMeasured(f"edac.{controller}.dimms is missing from the answer")
        for name, dimm in dimms.items():
            yield Module(
                dimm,
                growth,
                (controller, "dimms", name),
                Part("dimm", _label(dimm, f"{controller} {name}"), f"{controller}/{name}"),
            )


def _label(dimm: Any, otherwise: str) -> str:
    label = dimm.get("label") if isinstance(dimm, Mapping) else None
    return f"DIMM {label if isinstance(label, str) and label else otherwise}"


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Memory:
    """The memory as told by the node."""
    return Memory(data, "memory")
