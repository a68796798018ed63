"""Views of what one GPU says of itself: identity, modes, heat, power, failed calls. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.facts.section import ENABLED, UNSUPPORTED, Section
from fleetcheck.recording import Concern
from fleetcheck.view import Nested, Reading

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


class Identity(Section):
    """Names, serials and firmware of a board."""

    name = Reading(str)
    uuid = Reading(str)
    serial = Reading(str)
    multi_gpu_board = Reading(int)
    vbios = Reading(str)
    gsp_enabled = Reading(int)

    @property
    def gsp_firmware(self) -> Any:
        """Its version; ``none`` where the driver was told to do without it."""
        version = self.get("gsp_firmware", str)
        if isinstance(version, Absent) and self.code("gsp_enabled") == "SUCCESS" and not self.gsp_enabled:
            return self.derived("gsp_firmware", "none")
        return version

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
    def mig_pending(self) -> Any:
        """The MIG mode after the next reset; the present one where the driver does not tell."""
        return self.mig if self.code("mig_pending") in UNSUPPORTED else self.word("mig_pending", ENABLED)

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
    management_limit_watts = Reading(float)

    @property
    def limit_watts(self) -> Any:
        """What the GPU may draw: the lower of the limit in force and the one that was set."""
        enforced = self.enforced_limit_watts
        if self.code("management_limit_watts") in UNSUPPORTED:
            return enforced
        both = (enforced, self.management_limit_watts)
        absent = [each for each in both if isinstance(each, Absent)]
        return absent[0] if absent else min(both)


class Clocks(Section):
    """Megahertz."""

    graphics_application_mhz = Reading(int)


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
        watts = self._draws()
        if isinstance(watts, Absent):
            return watts
        known = [value for value in watts if isinstance(value, (int, float))]
        return self.derived("power_watts", max(known)) if known else self.numbers("power_watts", SAMPLES)

    def power_code(self) -> Any:
        """SUCCESS when any sample told the draw; else the last failure's code."""
        watts = self._draws()
        if isinstance(watts, Absent):
            return watts
        failed = [value["absent"] for value in watts if isinstance(value, Mapping)]
        return self.derived("power_code", "SUCCESS" if len(failed) < len(watts) else str(failed[-1]))

    def _draws(self) -> Any:
        watts = self.get("power_watts", list)
        if isinstance(watts, Absent) or len(watts) >= SAMPLES:
            return watts
        return Absent(f"{self.label}: {len(watts)} of {SAMPLES} samples of the draw in the answer")


class Calls(Section):
    """By NVML code, which functions said that this GPU is broken; "" is none."""

    bad = Nested(Section)

    def said(self, code: str) -> list[str]:
        """The functions that returned a code."""
        functions = self.bad.get(code, str)
        return functions.split() if functions else []  # truth of an Absent raises NotMeasured
