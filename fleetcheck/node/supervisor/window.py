"""Runs on the node: samples summed up to windows: least, mean, greatest; seconds by reason; growth of counters. Pure."""

from typing import Any, Dict, List, Mapping, Optional, Tuple

Leaves = Dict[str, Any]

VALUES = ("temperature", "margin", "memory_temperature", "power", "sm_clock", "mem_clock", "utilisation")
REASONS = (  # nvml.h, nvmlClocksEventReason*
    (0x1, "gpu_idle"), (0x2, "applications_clocks_setting"), (0x4, "sw_power_cap"), (0x8, "hw_slowdown"),
    (0x10, "sync_boost"), (0x20, "sw_thermal_slowdown"), (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake_slowdown"), (0x100, "display_clock_setting"),
)
NO_SAMPLE = {"absent": "no sample in this window"}
MOST_METRICS = 2048


class Extent:
    """Least, mean and greatest of numbers; the reason of the latest absent leaf when there was no number."""

    def __init__(self) -> None:
        self.count, self.sum, self.low, self.high = 0, 0.0, 0.0, 0.0
        self.reason: Leaves = NO_SAMPLE

    def add(self, value: Any) -> None:
        """Count a number, or remember why there is none."""
        if isinstance(value, dict):
            self.reason = value
        elif isinstance(value, (int, float)):
            self.low = value if not self.count else min(self.low, value)
            self.high = value if not self.count else max(self.high, value)
            self.count, self.sum = self.count + 1, self.sum + value

    def told(self) -> Any:
        """[least, mean, greatest], or an absent leaf."""
        return [self.low, round(self.sum / self.count, 3), self.high] if self.count else self.reason


class Window:
    """What was sampled since ``began`` (seconds since the start of the load)."""

    def __init__(self, began: float, load: str) -> None:
        self.began = began
        self.load = load
        self.gpus: Dict[str, Dict[str, Extent]] = {}
        self.throttled: Dict[str, Dict[str, float]] = {}
        self.reasons_absent: Dict[str, Any] = {}
        self.metrics: Dict[Tuple[str, str], Extent] = {}
        self.samples = 0

    def add(self, sample: Mapping[str, Any], seconds: float) -> None:
        """Count one sample that stands for ``seconds``."""
        self.samples += 1
        for index, gpu in sample["gpus"].items():
            extents = self.gpus.setdefault(index, {})
            for name in VALUES + ("pcie_generation", "pcie_width"):
                if name in gpu:
                    extents.setdefault(name, Extent()).add(gpu[name])
            self.count_reasons(index, gpu.get("reasons"), seconds)

    def count_reasons(self, index: str, bits: Any, seconds: float) -> None:
        """Add the seconds to every reason that holds clocks down."""
        held = self.throttled.setdefault(index, {})
        if not isinstance(bits, int):
            self.reasons_absent[index] = bits or NO_SAMPLE
            return
        for bit in range(bits.bit_length()):
            if bits >> bit & 1:
                name = dict(REASONS).get(1 << bit, "reason_0x%x" % (1 << bit))
                held[name] = held.get(name, 0.0) + seconds

    def measured(self, device: Any, metric: Any, value: Any) -> None:
        """Count what a load says of its own speed."""
        if len(self.metrics) < MOST_METRICS:
            self.metrics.setdefault((str(device), str(metric)), Extent()).add(value)

    def told(self, now: float, identities: Mapping[str, Leaves], growth: Mapping[str, Leaves]) -> Leaves:
        """The WINDOW; growth: counters of each GPU since the last window, by index."""
        gpus = {index: self.gpu(index, identities.get(index, {}), growth.get(index, {})) for index in identities}
        metrics: Dict[str, Leaves] = {}
        for (device, metric), extent in self.metrics.items():
            metrics.setdefault(device, {})[metric] = extent.told()
        return {"t": round(self.began, 3), "seconds": round(now - self.began, 3), "load": self.load,
                "samples": self.samples, "gpus": gpus, "metrics": metrics}

    def gpu(self, index: str, identity: Leaves, growth: Leaves) -> Leaves:
        """One GPU's part."""
        extents = self.gpus.get(index, {})
        found: Leaves = {name: extents[name].told() if name in extents else NO_SAMPLE for name in VALUES}
        held = self.throttled.get(index)
        found.update(
            uuid=identity.get("uuid", ""),
            throttled_seconds={name: round(seconds, 2) for name, seconds in held.items()}
            if held or held is not None and index not in self.reasons_absent
            else self.reasons_absent.get(index, NO_SAMPLE),
            pcie=[least(extents.get("pcie_generation")), least(extents.get("pcie_width"))],
        )
        found.update(growth)
        return found


def least(extent: Optional[Extent]) -> Any:
    """The least of what was sampled."""
    if extent is None:
        return NO_SAMPLE
    return extent.low if extent.count else extent.reason


def summed(values: List[Any]) -> Any:
    """The sum of numbers; an absent leaf when there is none."""
    numbers = [value for value in values if isinstance(value, (int, float))]
    return sum(numbers) if numbers else (values[0] if values else NO_SAMPLE)
