"""Views of the GPUs as NVML tells of them: one Gpu per index that has a handle. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.driver import branch_of
from fleetcheck.facts.gpu_link import Fabric, Growth, NvLink, Peers
from fleetcheck.facts.gpu_memory import Ecc, Memory, Remap, Retired
from fleetcheck.facts.gpu_process import Processes
from fleetcheck.facts.section import ENABLED, UNSUPPORTED, Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Nested, Parts, Reading

COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
RECOVERY = {
    1: Concern("the driver asks for a GPU reset"),
    2: Concern("the driver asks for a node reboot", action="reboot"),
    3: Concern("the driver asks to drain peer-to-peer traffic, then reset", severity="degraded"),
    4: Concern("the driver asks to drain and reset"),
    5: Concern("the driver asks to recover the IMEX domain", severity="degraded", action="restart-service"),
    6: Concern("the driver asks for a bus reset"),
    7: Concern("the driver asks for a system reboot", action="reboot"),
}
"""NVML_FI_DEV_GET_GPU_RECOVERY_ACTION by value (nvml.h); where severity or action is silent the check's own holds."""
HW_SLOWDOWN, SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x8, 0x20, 0x40, 0x80
IDLE, POWER_CAP = 0x1, 0x4
"""Clock event reasons, bits of nvmlDeviceGetCurrentClocksEventReasons."""
SAMPLES = 3
GONE = ("GPU_IS_LOST", "RESET_REQUIRED")
"""Codes of a GPU that fails every call: found by the checks on lost GPUs, not measured by the others."""


class Identity(Section):
    """Names, serials and firmware of a board."""

    name = Reading(str)
    uuid = Reading(str)
    serial = Reading(str)
    vbios = Reading(str)
    gsp_firmware = Reading(str)
    inforom_code = Reading(str)


class Modes(Section):
    """Settings of a GPU, in words."""

    @property
    def persistence(self) -> Any:
        """``enabled`` or ``disabled``."""
        return self.word("persistence", ENABLED)

    @property
    def compute(self) -> Any:
        """``default``, ``exclusive-process``, …"""
        return self.word("compute", COMPUTE_MODES)

    @property
    def mig(self) -> Any:
        """``enabled`` or ``disabled``."""
        return self.word("mig_current", ENABLED)

    @property
    def recovery_action(self) -> Concern | bool:
        """What the driver asks for before this GPU can be used again; False when nothing."""
        action = self.get("recovery_action", int)
        return bool(action) and RECOVERY.get(action, Concern(f"the driver asks for recovery action {action}"))


class Thermal(Section):
    """Degrees Celsius. The margin counts degrees below the maximum operating temperature."""

    temperature_celsius = Reading(int)
    slowdown_celsius = Reading(int)
    margin_celsius = Reading(int)
    memory_celsius = Reading(int)


class Power(Section):
    """Limits in watts."""

    enforced_limit_watts = Reading(float)


class Pcie(Section):
    """The GPU's own end of its link."""

    width = Reading(int)


class Samples(Section):
    """What changes by the moment, read several times within a second."""

    @property
    def persistent_reasons(self) -> Any:
        """Clock event reasons set in every sample: a single one also shows at a clock change (nvml.h)."""
        reasons = self.numbers("event_reasons", SAMPLES)
        if isinstance(reasons, Absent):
            return reasons
        bits = ~0
        for sample in reasons:
            bits &= sample
        return self.derived("persistent_reasons", bits)

    def slowed_by(self, bit: int, words: str) -> Concern | bool:
        """Whether a reason held the clocks down in every sample."""
        held = self.persistent_reasons & bit
        return bool(held) and Concern(f"{words} in {SAMPLES} of {SAMPLES} samples (event reason {bit:#x})")

    @property
    def highest_power_watts(self) -> Any:
        """The highest draw of the samples; those that failed are left out, unless all did."""
        watts = self.get("power_watts", list)
        if isinstance(watts, Absent):
            return watts
        known = [value for value in watts if isinstance(value, (int, float))]
        return self.derived("power_watts", max(known)) if known else self.numbers("power_watts", 1)

    def power_code(self) -> str:
        """SUCCESS when any sample told the draw; else the last failure's code."""
        watts = self.get("power_watts", list)
        if isinstance(watts, Absent) or not watts:
            return watts or Absent(f"{self.label}: no sample of the draw")  # type: ignore[return-value]  # refuses every use
        failed = [value["absent"] for value in watts if isinstance(value, Mapping)]
        return self.derived("power_code", "SUCCESS" if len(failed) < len(watts) else str(failed[-1]))


class Calls(Section):
    """By NVML code, which functions said that this GPU is broken; "" is none."""

    def said(self, code: str) -> list[str]:
        """The functions that returned a code."""
        bad = Section(self.raw.get("bad") if isinstance(self.raw, Mapping) else self.raw, f"{self.where}.bad", self.part)
        functions = bad.get(code, str)
        return functions.split() if functions else []  # truth of an Absent raises NotMeasured


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
        """Whether the InfoROM failed its checksum, or any call says so; Absent when neither could be asked."""
        code = self.identity.inforom_code
        if code == "CORRUPTED_INFOROM" or self.calls.said("CORRUPTED_INFOROM"):
            return Concern("InfoROM is corrupt (NVML CORRUPTED_INFOROM)")
        return code != "SUCCESS" and Absent(f"{self.label}: InfoROM validation returned {code}")  # type: ignore[return-value]

    def links_down(self, promised: Bound, still_booting: Any) -> Any:
        """Whether fewer or more NVLinks are up than promised; not measured while links may still be training."""
        down = self.nvlink.active(promised) not in promised
        return Absent(f"{self.label}: NVLinks may still be training after boot; ask again") if down and still_booting else down

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

    @property
    def margin_celsius(self) -> Any:
        """Degrees to the maximum operating temperature. Drivers before 570 may answer 0 or less where they do not know."""
        margin = self.thermal.margin_celsius
        if isinstance(margin, Absent) or margin > 0 or (self.branch or 0) >= 570:
            return margin
        return Absent(f"{self.label}: a margin of {margin} °C is not reliable before driver 570")


def gpus(answer: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Gpu]:
    """Every GPU with a handle; those without are listed with the code that took it."""
    branch = branch_of(answer)
    views = [Gpu(raw, "gpu", part_of(raw, answer), branch) for raw in entries(answer)]
    codes = [(view, view.raw.get("handle_code") if isinstance(view.raw, Mapping) else None) for view in views]
    lost = [f"{view.label} has no handle: {code or 'its code is missing from the answer'}" for view, code in codes if code != "SUCCESS"]
    return Parts([view for view, code in codes if code == "SUCCESS"], "GPUs", expected(profile), lost)


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
    addresses = (answer.get("driver") or {}).get("addresses")
    known = isinstance(addresses, list) and isinstance(index, int) and len(addresses) == len(entries(answer))
    place = identity.get("address") if isinstance(identity.get("address"), str) else sorted(addresses)[index] if known else ""
    serial = identity.get("serial")
    return Part("gpu", f"GPU {index if isinstance(index, int) else '?'}", place, serial if isinstance(serial, str) else "")


def hotter_than_peers(gpus: Parts[Gpu], gpu: Gpu) -> Any:
    """Degrees above the median of the node's GPUs, for a GPU that draws no more than they do; else 0: work makes heat."""
    temperatures = [other.thermal.temperature_celsius for other in gpus.present]
    draws = [other.samples.highest_power_watts for other in gpus.present]
    for value in (*temperatures, *draws):
        if isinstance(value, Absent):
            return value
    busy = gpu.samples.highest_power_watts > 1.25 * median(draws) + 25
    above = 0 if busy else gpu.thermal.temperature_celsius - median(temperatures)
    return gpu.thermal.derived("celsius_above_the_node_median", above)


def held_back_below_cap(gpu: Gpu, fraction: Any) -> Concern | bool:
    """The power cap holds clocks down although the draw stays far below it; an idle GPU may carry the bit."""
    reasons = gpu.samples.persistent_reasons
    if not reasons & POWER_CAP or reasons & IDLE:
        return False
    draw, cap = gpu.samples.highest_power_watts, gpu.power.enforced_limit_watts
    return draw / cap not in fraction and Concern(f"held down by the power cap (event reason 0x4) at {draw:g} of {cap:g} W")


