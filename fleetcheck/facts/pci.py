"""Views of the PCI functions a GPU node lives by. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.facts.gpu import expected
from fleetcheck.facts.section import Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Nested, Parts, Reading

DEAD_WIDTH = 63
"""What sysfs tells of a link that went down: all ones in the six bits of the register."""
NAMES = {"gpu": "GPU", "nvswitch": "NVSwitch", "nic": "NIC", "nvme": "NVMe"}


class Aer(Section):
    """Advanced error reporting since boot."""

    nonfatal = Reading(int)
    nonfatal_unsupported_requests = Reading(int)
    fatal = Reading(int)

    @property
    def uncorrectable(self) -> Concern | bool:
        """Uncorrectable errors; unsupported requests come from probing registers that are not there, at every boot."""
        fatal, nonfatal = self.fatal, self.nonfatal - self.nonfatal_unsupported_requests
        if fatal:
            return Concern(f"{fatal} fatal PCIe errors since boot", severity="fatal", action="isolate")
        return nonfatal > 0 and Concern(f"{nonfatal} uncorrectable non-fatal PCIe errors since boot")


class Function(Section):
    """One PCI function and the port above it."""

    address = Reading(str)
    kind = Reading(str)
    revision = Reading(str)
    all_ones = Reading(bool)
    current_width = Reading(int)
    driver = Reading(str)
    port = Reading(str)
    aer = Nested(Aer)
    port_aer = Nested(Aer)

    __slots__ = ("bus",)

    def __init__(self, raw: object, where: str, part: Part | None = None, bus: Section | None = None) -> None:
        """``bus``: the whole answer, which tells the seconds between the two readings of correctable errors."""
        super().__init__(raw, where, part)
        self.bus = bus or Section(None, "pci")

    @property
    def dead(self) -> Concern | bool:
        """Whether the function reads as all ones: nothing answers at its address any more.

        The link's width comes from the device each time: it tells of life where configuration space itself is hidden.
        """
        if self.revision == "0xff" or self.current_width == DEAD_WIDTH:
            return Concern("reads as all ones (rev ff): nothing answers at this address")
        hidden = self.code("all_ones") != "SUCCESS"
        return not hidden and self.all_ones and Concern("configuration space reads as all ones: nothing answers here")

    @property
    def counts_errors(self) -> bool:
        """Whether the kernel counts AER errors for it; functions without the capability have no counter files."""
        return not self.aer.has_no_file("nonfatal")

    @property
    def uncorrectable(self) -> Concern | bool:
        """Uncorrectable errors of the function, or of the port above it."""
        own = self.aer.uncorrectable
        if own or self.code("port") == "no port above it" or self.port_aer.has_no_file("nonfatal"):
            return own
        above = self.port_aer.uncorrectable
        return isinstance(above, Concern) and Concern(f"port {self.port}: {above.text}", above.severity, above.action)

    @property
    def correctable_per_second(self) -> Any:
        """Correctable errors a second between the two readings."""
        pair = self.aer.numbers("correctable", 2)
        if isinstance(pair, Absent):
            return pair
        seconds = self.bus.get("seconds", float)
        return self.aer.derived("correctable_per_second", round(max(0, pair[1] - pair[0]) / seconds, 1))


class Acs(Section):
    """Access Control Services of the bridges: switched on, it sends peer-to-peer traffic through the root complex."""

    virtual = Reading(bool)
    told = Reading(int)

    @property
    def enabled(self) -> list[str]:
        """The bridges that validate sources; raises NotMeasured when no bridge's register was told."""
        enabled = list(self.get("enabled", list))
        return enabled if self.told else []  # truth of an Absent raises NotMeasured


class Pci:
    """All functions of a node."""

    def __init__(self, functions: list[Function], gpus: int | None, acs: Acs) -> None:
        """``gpus``: how many the profile promises."""
        self.functions = functions
        self.acs = acs
        self.promised_gpus = gpus

    def of_kind(self, kind: str) -> list[Function]:
        """The functions of one kind."""
        return [function for function in self.functions if function.kind == kind]

    @property
    def gpus(self) -> Parts[Function]:
        """The GPUs as the PCI bus shows them."""
        return Parts(self.of_kind("gpu"), "GPUs on the PCI bus", self.promised_gpus)

    @property
    def gpu_count(self) -> int:
        """How many GPUs the bus shows; raises NotMeasured when a function does not tell what it is."""
        return len(self.of_kind("gpu"))

    @property
    def reporting_errors(self) -> Parts[Function]:
        """Functions for which the kernel counts errors; there must be one at least."""
        able = [function for function in self.functions if function.counts_errors]
        return Parts(able, "PCI functions", len(able) or 1)


def pci(answer: Mapping[str, Any], profile: Profile, node: Node) -> Pci:
    """The PCI functions of one node; raises NotMeasured when they were not told."""
    told = Section(answer, "pci")
    functions = list(told.get("functions", list))
    views = [Function(raw, "pci", part_of(raw, number), told) for number, raw in numbered(functions)]
    return Pci(views, expected(profile), Acs(answer.get("acs"), "pci.acs"))


def numbered(functions: list[Any]) -> list[tuple[int, Any]]:
    """Each function with its number among its kind, in the order of the bus."""
    seen: dict[str, int] = {}
    found = []
    for raw in functions:
        kind = str(raw.get("kind")) if isinstance(raw, Mapping) else ""
        found.append((seen.get(kind, 0), raw))
        seen[kind] = seen.get(kind, 0) + 1
    return found


def part_of(raw: Any, number: int) -> Part:
    """``NIC 2`` at its address; GPUs are named by address only, since NVML's order is its own."""
    told = raw if isinstance(raw, Mapping) else {}
    kind, address = str(told.get("kind", "?")), str(told.get("address", "?"))
    label = f"GPU at {address}" if kind == "gpu" else f"{NAMES.get(kind, 'function')} {number} at {address}"
    return Part(kind, label, address)
