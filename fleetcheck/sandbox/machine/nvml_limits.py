"""What NVML answers of temperatures, power and clocks, for all GPUs alike."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Gpus
from fleetcheck.sandbox.machine.chips import Chip
from fleetcheck.sandbox.machine.nvml_rule import field, no_field, rule
from fleetcheck.sandbox.nvml_rules import NvmlRule

IDLE = 0x1
SUPPORTED_REASONS = 0x1FF
TEMPERATURE_LIMITS = range(193, 197)
SIGNED_INT = 5


def thermal(gpus: Gpus) -> list[NvmlRule]:
    """Thresholds and margins."""
    chip, call = gpus.chip, "nvmlDeviceGetTemperatureThreshold"
    limits = (chip.shutdown_celsius, chip.slowdown_celsius, chip.memory_max_celsius, chip.gpu_max_celsius)
    thresholds = [rule(call, celsius, thresholdType=kind) for kind, celsius in enumerate(limits)]
    return [rule(call, ret="NOT_SUPPORTED"), *thresholds, *_margins(chip)]


def _margins(chip: Chip) -> list[NvmlRule]:
    """Degrees below the highest operating temperature, where the part counts so: Hopper and later."""
    if chip.slowdown_tlimit is None:
        return [rule("nvmlDeviceGetMarginTemperature", ret="NOT_SUPPORTED"), *map(no_field, TEMPERATURE_LIMITS)]
    offsets = (chip.shutdown_tlimit, chip.slowdown_tlimit, 0, 0)
    return [field(number, {"value": offset, "valueType": SIGNED_INT})
            for number, offset in zip(TEMPERATURE_LIMITS, offsets, strict=True)]


def power(gpus: Gpus) -> list[NvmlRule]:
    """Limits, and why clocks are where they are: idle."""
    limit = gpus.watts * 1000
    least = min(gpus.chip.least_watts * 1000, limit)
    reasons = {"Current": IDLE, "Supported": SUPPORTED_REASONS}
    return [
        *(rule(f"nvmlDeviceGet{name}", limit)
          for name in ("EnforcedPowerLimit", "PowerManagementLimit", "PowerManagementDefaultLimit")),
        rule("nvmlDeviceGetPowerManagementLimitConstraints", {"minLimit": least, "maxLimit": limit}),
        *(rule(f"nvmlDeviceGet{which}Clocks{age}Reasons", bits)
          for which, bits in reasons.items() for age in ("Event", "Throttle")),
        rule("nvmlDeviceGetViolationStatus", {"referenceTime": {"start": 10**12, "per_second": 10**6}, "violationTime": 0}),
    ]


def clocks(gpus: Gpus) -> list[NvmlRule]:
    """Clocks at idle, at most, and as applications may ask for."""
    chip = gpus.chip
    steps = range(chip.clocks[0], chip.idle_clocks[0] - 1, -15)
    rules = [
        rule("nvmlDeviceGetApplicationsClock", chip.default_graphics_clock),
        rule("nvmlDeviceGetApplicationsClock", chip.clocks[2], clockType=2),
        rule("nvmlDeviceGetSupportedMemoryClocks", [chip.clocks[2]]),
        rule("nvmlDeviceGetSupportedGraphicsClocks", list(steps)),
    ]
    for kind, (highest, now) in enumerate(zip(chip.clocks, chip.idle_clocks, strict=True)):
        rules += [rule("nvmlDeviceGetMaxClockInfo", highest, type=kind), rule("nvmlDeviceGetClockInfo", now, type=kind),
                  rule("nvmlDeviceGetClock", highest, clockType=kind),
                  rule("nvmlDeviceGetClock", now, clockType=kind, clockId=0)]
    return rules
