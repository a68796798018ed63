"""Views of the GPUs as NVML tells of them: one Gpu per index that has a handle. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.exchanged import is_serial
from fleetcheck.facts.driver import Driver, branch_of
from fleetcheck.facts.gpu_fabric import Fabric, Peers
from fleetcheck.facts.gpu_growth import Growth
from fleetcheck.facts.gpu_link import NvLink
from fleetcheck.facts.gpu_memory import Ecc, Memory, Remap, Retired
from fleetcheck.facts.gpu_process import Processes
from fleetcheck.facts.gpu_state import IDLE, POWER_CAP, SAMPLES, Calls, Clocks, Identity, Modes, Pcie, Power, Samples, Thermal
from fleetcheck.facts.growth import measured
from fleetcheck.facts.section import UNSUPPORTED, Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Nested, Parts

GONE = ("GPU_IS_LOST", "RESET_REQUIRED", "INSUFFICIENT_POWER")
"""Codes that are a finding of their own: other checks say "not measured" to them."""


class Gpu(Section):
    """One GPU that has a handle."""

    identity = Nested(Identity)
    modes = Nested(Modes)
    memory = Nested(Memory)
    ecc = Nested(Ecc)
    remap = Nested(Remap)
    retired = Nested(Retired)
    thermal = Nested(Thermal)
    power = Nested(Power)
    clocks = Nested(Clocks)
    pcie = Nested(Pcie)
    nvlink = Nested(NvLink)
    fabric = Nested(Fabric)
    peers = Nested(Peers)
    samples = Nested(Samples)
    growth = Nested(Growth, "counters")
    calls = Nested(Calls)

    __slots__ = ("branch",)

    def __init__(self, raw: object, where: str, part: Part | None = None, branch: int | None = None) -> None:
        """``branch``: of the node's driver."""
        super().__init__(raw, where, part)
        self.branch = branch

    @property
    def index(self) -> int:
        """NVML's index."""
        index = self.get("index", int)
        if isinstance(index, Absent):
            raise NotMeasured(index.reason)
        return int(index)

    @property
    def processes(self) -> Processes:
        """Who computes on this GPU."""
        return Processes(self.get("processes", list), self)

    @property
    def inforom_corrupt(self) -> Concern | bool:
        """Whether the InfoROM failed its checksum, or any call says so."""
        code = self.identity.inforom_code
        if code == "CORRUPTED_INFOROM" or self.calls.said("CORRUPTED_INFOROM"):
            return Concern("InfoROM is corrupt (NVML CORRUPTED_INFOROM)")
        if code != "SUCCESS":
            raise NotMeasured(f"{self.label}: InfoROM validation returned {code}")
        return False

    def links_down(self, promised: Bound, driver: Driver) -> Any:
        """Whether fewer or more NVLinks are up than promised; raises NotMeasured while they may still be training."""
        down = self.nvlink.active(promised) not in promised
        if down and driver.still_booting:
            raise NotMeasured(f"{self.label}: NVLinks may still be training after boot; ask again")
        return down

    def cut_off(self, others: Sequence[Gpu]) -> Concern | bool:
        """The peers whose memory this GPU cannot read."""
        broken = self.peers.broken([other.index for other in others if other is not self])
        return bool(broken) and Concern(f"no peer access to {', '.join(broken)}")

    def too_hot(self, allowed: Bound | None) -> Any:
        """At or above the board's own slowdown temperature, or outside the profile's bound where there is one."""
        temperature = self.thermal.temperature_celsius
        if allowed is not None and temperature not in allowed:
            return True
        if allowed is not None and self.thermal.code("slowdown_celsius") != "SUCCESS":
            return False
        slowdown = self.thermal.slowdown_celsius
        return temperature >= slowdown and Concern(f"{temperature} °C, slowdown at {slowdown} °C")

    def draw_trouble(self, possible: Bound) -> Any:
        """A draw that is not possible, or that every sample failed to read; a board without the sensor is none."""
        code = self.samples.power_code()
        if code == "SUCCESS":
            return self.samples.highest_power_watts not in possible
        if code in UNSUPPORTED:
            return False
        if code in GONE:
            return Absent(f"{self.label}: power draw: {code}")
        return Concern(f"power draw unreadable in {SAMPLES} of {SAMPLES} samples: {code}")

    def limit_trouble(self) -> Any:
        """Which of its power limits cannot be read; a board that has no such limit is none."""
        codes = {name: self.power.code(f"{name}_limit_watts") for name in ("enforced", "management", "default")}
        untold = next((code for code in codes.values() if isinstance(code, Absent) or code in (*GONE, "NO_PERMISSION")), None)
        if untold is not None:
            return untold if isinstance(untold, Absent) else Absent(f"{self.label}: power limits: {untold}")
        failed = [f"{name} ({code})" for name, code in codes.items() if code != "SUCCESS" and code not in UNSUPPORTED]
        return bool(failed) and Concern(f"power limit unreadable: {', '.join(failed)}")

    @property
    def margin_celsius(self) -> Any:
        """Degrees to the maximum operating temperature; drivers before 570 may answer 0 where they do not know."""
        margin = self.thermal.margin_celsius
        if isinstance(margin, Absent) or margin > 0 or (self.branch or 0) >= 570:
            return margin
        return Absent(f"{self.label}: a margin of {margin} °C is not reliable before driver 570")


def gpus(answer: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Gpu]:
    """Every GPU with a handle; those without are listed with the code that took it."""
    branch = branch_of(answer)
    views = [Gpu(raw, "gpu", part_of(raw, answer), branch) for raw in entries(answer)]
    codes = {view: view.raw.get("handle_code") if isinstance(view.raw, Mapping) else None for view in views}
    lost = [f"{view.label} has no handle: {code}" for view, code in codes.items() if code != "SUCCESS"]
    return Parts([view for view in views if codes[view] == "SUCCESS"], "GPUs", expected(profile), lost)


def expected(profile: Profile) -> int | None:
    """How many GPUs the profile promises."""
    return int(profile.gpu.count.low or 0) if profile.gpu else None


def entries(answer: Mapping[str, Any]) -> list[Any]:
    """The raw answers by index; none when they are missing."""
    found = answer.get("gpus")
    return found if isinstance(found, list) else []


def part_of(raw: Any, answer: Mapping[str, Any]) -> Part:
    """Which board this is; a GPU that no longer tells its address is placed by the driver's list of addresses."""
    raw = raw if isinstance(raw, Mapping) else {}
    identity, index = raw.get("identity") or {}, raw.get("index")
    place, serial = (identity.get(name) for name in ("address", "serial"))
    if not isinstance(place, str):
        place = listed_address(answer, index)
    label = f"GPU {index}" if isinstance(index, int) else "GPU ?"
    return Part("gpu", label, place, serial if isinstance(serial, str) else "")


def listed_address(answer: Mapping[str, Any], index: Any) -> str:
    """Where the driver's list of addresses has the GPU of an index: NVML counts in the order of the bus."""
    addresses = (answer.get("driver") or {}).get("addresses")
    if not isinstance(addresses, list) or len(addresses) != len(entries(answer)) or not isinstance(index, int):
        return ""
    return str(sorted(addresses)[index])


def hotter_than_peers(gpus: Parts[Gpu], gpu: Gpu, allowed: Bound | None) -> Any:
    """Degrees above the median of the node's GPUs; 0 for a GPU that draws more than they do, since work makes heat, and for
    one that is too hot by itself, which is a finding already."""
    temperatures = [other.thermal.temperature_celsius for other in gpus.present]
    draws = [other.samples.highest_power_watts for other in gpus.present]
    for value in (*temperatures, *draws):
        if isinstance(value, Absent):
            return value
    excused = gpu.samples.highest_power_watts > 1.25 * median(draws) + 25 or gpu.too_hot(allowed)
    above = 0 if excused else gpu.thermal.temperature_celsius - median(temperatures)
    return gpu.thermal.derived("celsius_above_the_node_median", above)


def named_twice(gpus: Parts[Gpu], gpu: Gpu) -> Concern | bool:
    """The GPUs with the UUID of this one; those with its serial number are a lesser trouble, and none where boards carry several GPUs."""
    others = [other for other in gpus.present if other is not gpu]
    uuid = measured(gpu.identity.uuid)
    twins = [other.label for other in others if other.identity.code("uuid") == "SUCCESS" and other.identity.uuid == uuid]
    if twins:
        return Concern(f"same UUID as {', '.join(twins)}: {uuid}")
    serial = _own_serial(gpu)
    twins = [other.label for other in others if serial and other.identity.code("serial") == "SUCCESS" and other.identity.serial == serial]
    return bool(twins) and Concern(f"same serial number as {', '.join(twins)}: {serial}", severity="warn", action="observe")


def _own_serial(gpu: Gpu) -> str:
    """The serial number that is this GPU's alone; empty where its driver or board knows none, it is a filler, or the board carries several
    GPUs. Raises NotMeasured where NVML failed to tell."""
    identity = gpu.identity
    if identity.code("serial") in UNSUPPORTED or identity.code("multi_gpu_board") in UNSUPPORTED:
        return ""
    serial: str = measured(identity.serial)
    return serial if measured(identity.multi_gpu_board) == 0 and is_serial(serial) else ""


def clocked_below_peers(gpus: Parts[Gpu], gpu: Gpu) -> Any:
    """Whether applications get a lower clock on this GPU than on most of the node."""
    clocks = [other.clocks.graphics_application_mhz for other in gpus.present]
    untold = next((clock for clock in clocks if isinstance(clock, Absent)), None)
    if untold is not None:
        return untold
    mine, usual = gpu.clocks.graphics_application_mhz, median(clocks)
    return mine < usual and Concern(f"applications get {mine} MHz, {usual:g} MHz on most GPUs of the node")


def held_back_below_cap(gpu: Gpu, fraction: Any) -> Concern | bool:
    """The power cap holds clocks down although the draw stays far below it; an idle GPU may carry the bit."""
    reasons = gpu.samples.persistent_reasons
    if not reasons & POWER_CAP or reasons & IDLE:
        return False
    draw, cap = gpu.samples.highest_power_watts, gpu.power.enforced_limit_watts
    if draw / cap in fraction:
        return False
    return Concern(f"held down by the power cap (event reason 0x4) at {draw:g} of {cap:g} W")


