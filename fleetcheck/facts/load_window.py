"""Telemetry of one GPU while loads ran, window by window. Runs on the controller.

A value that the driver did not tell costs its window; when too many windows lack it, it is not measured. A value that is left out, or is
no number, is not measured at once: a node never leaves a value out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from fleetcheck.absent import NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.load_device import numbers
from fleetcheck.facts.section import Section
from fleetcheck.recording import Concern, Part

LEAST_TOLD = 0.9
"""The share of windows that must tell a value."""
BUSY_PERCENT = 90.0
"""Mean utilisation of a window in which a GPU computes all the time."""
CLOCK_CHANGE_SECONDS = 2.0
"""Event reasons show for a moment at every clock change (nvml.h): two samples in all are none of heat or power."""
LONGEST_WINDOW = 3600.0
SENSORS = ("temperature", "memory_temperature")
MINIMUM, MEAN, MAXIMUM = range(3)
HW_SLOWDOWN, HW_THERMAL, SW_THERMAL, POWER_BRAKE = "hw_slowdown", "hw_thermal_slowdown", "sw_thermal_slowdown", "hw_power_brake_slowdown"
"""Reasons that hold clocks down, as the node names NVML's bits; one that a window does not list held nothing down."""


@dataclass(frozen=True, slots=True)
class Window:
    """at, seconds: since the start of the loads; load: what ran, empty between two; told: the values of one GPU."""

    at: float
    seconds: float
    load: str
    told: Mapping[str, Any]


def minute(at: float) -> str:
    """When something happened under load.

    >>> minute(59.0), minute(721.5)
    ('minute 1', 'minute 13')
    """
    return f"minute {int(at // 60) + 1}"


class LoadedGpu(Section):
    """One GPU under load. windows: those in which a load ran, in order; gaps: why they are not all there are."""

    __slots__ = ("gaps", "kept", "windows")

    def __init__(self, raw: object, part: Part, windows: Sequence[Window], gaps: Sequence[str] = ()) -> None:
        super().__init__(raw, "telemetry", part)
        self.windows = windows
        self.gaps = gaps
        self.kept: dict[tuple[str, str], list[list[float]]] = {}

    def held_back(self, share: Bound, reason: str, explained: Sequence[str] = ()) -> Concern | bool:
        """Whether a reason held the clocks down for more of the loaded time than a bound in per cent allows. explained: reasons
        whose time does not count."""
        told = [(window, self._held(value, reason) - sum(self._held(value, other) for other in explained))
                for window, value in self._told("throttled_seconds")]
        held = [(window, min(max(0.0, seconds), window.seconds)) for window, seconds in told]
        total, loaded = sum(seconds for _, seconds in held), sum(window.seconds for window, _ in held)
        percent = self.derived(f"{reason}_percent", round(100 * total / loaded, 2) if total > CLOCK_CHANGE_SECONDS else 0.0)
        if percent in share:
            return False
        window, _ = max(held, key=lambda each: each[1])
        return Concern(f"{reason.replace('_', ' ')} for {total:.0f} of {loaded:.0f} s under load ({percent:g} %, limit {share}), "
                       f"most in {minute(window.at)} ({window.load})")

    def _held(self, reasons: Any, name: str) -> float:
        if not isinstance(reasons, Mapping):
            raise NotMeasured(f"{self.label}: throttled_seconds is {reasons!r:.60}")
        (seconds,) = numbers([reasons.get(name, 0.0)], f"{self.label}: throttled_seconds.{name}", 1)
        if seconds < 0:
            raise NotMeasured(f"{self.label}: throttled_seconds.{name} is {seconds:g}")
        return seconds

    def out_of(self, key: str, bound: Bound, unit: str) -> Concern | bool:
        """Whether any sample of a value was outside a bound: its lowest where the bound is a floor, else its highest."""
        which, choose = (MINIMUM, min) if bound.high is None else (MAXIMUM, max)
        samples = [(self._triple(key, value)[which], window) for window, value in self._told(key)]
        value, window = choose(samples, key=lambda each: each[0])
        value = self.derived(key, value)
        if key in SENSORS and value <= 0:
            raise NotMeasured(f"{self.label}: a {key.replace('_', ' ')} of {value:g} °C under load is no reading of a sensor")
        return value not in bound and Concern(f"{key} {value:g} {unit} in {minute(window.at)} ({window.load}; limit {bound})")

    def _triple(self, key: str, value: Any) -> list[float]:
        """Lowest, mean and highest of a window; raises NotMeasured when they are no such three."""
        found = numbers(value, f"{self.label}: {key}", 3)
        if not found[MINIMUM] <= found[MEAN] <= found[MAXIMUM] or max(map(abs, found)) > 1e6:
            raise NotMeasured(f"{self.label}: {key} is {value!r:.80}: no lowest, mean and highest")
        return found

    def busy(self, load: str = "") -> list[Window]:
        """Windows in which the GPU computed all the time, and so it did before and after: none at a load's begin or end."""
        told = [(window, self._triple("utilisation", value)[MEAN]) for window, value in self._told("utilisation")]
        full = [window.load if mean >= BUSY_PERCENT else "" for window, mean in told]
        return [window for number, (window, _) in enumerate(told)
                if full[number] and load in ("", full[number]) and {*full[max(0, number - 1) : number + 2]} == {full[number]}]

    def mean(self, key: str, load: str) -> float:
        """The mean of a value over the busy windows of a load; raises NotMeasured where there are none."""
        return float(self.derived(f"{key}_under_{load}", round(fmean(triple[MEAN] for triple in self._under(key, load)), 1)))

    def highest_mean(self, key: str, load: str) -> float:
        """The highest mean of a value in any busy window of a load."""
        return float(self.derived(f"{key}_under_{load}", max(triple[MEAN] for triple in self._under(key, load))))

    def _under(self, key: str, load: str) -> list[list[float]]:
        """Lowest, mean and highest of a value in the busy windows of a load; worked out once, for every peer asks."""
        if (key, load) not in self.kept:
            self.kept[key, load] = self._within(key, self._computing(load))
        self.derived(key, len(self.windows))
        self.derived("utilisation", len(self.windows))
        return self.kept[key, load]

    def _computing(self, load: str) -> list[Window]:
        windows = self.busy(load)
        if not windows:
            raise NotMeasured(f"{self.label}: no 10 s in which {load or 'a load'} kept it busy")
        return windows

    def _within(self, key: str, windows: Sequence[Window]) -> list[list[float]]:
        chosen = {id(window) for window in windows}
        found = [self._triple(key, value) for window, value in self._told(key) if id(window) in chosen]
        if not found:
            raise NotMeasured(f"{self.label}: {key} was told in no window of the load")
        return found

    def trained_down(self, generation: Any, width: Any) -> Concern | bool:
        """Whether the PCIe link ran below its generation or width while the GPU was busy: an idle link saves power and may."""
        chosen = {id(window) for window in self._computing("")}
        pairs = [(window, numbers(value, f"{self.label}: pcie", 2)) for window, value in self._told("pcie") if id(window) in chosen]
        if not pairs:
            raise NotMeasured(f"{self.label}: pcie was told in no busy window")
        low = [(window, pair) for window, pair in pairs if pair[0] not in generation or pair[1] not in width]
        if len(low) * 2 < len(pairs) and len(low) < 3:
            return False
        window, pair = low[0]
        return Concern(f"PCIe generation {pair[0]:g}, {pair[1]:g} lanes while busy (limit {generation}, {width}) in {len(low)} of "
                       f"{len(pairs)} windows since {minute(window.at)} of {window.load}")

    def storm(self, key: str, bound: Bound, name: str = "") -> Concern | bool:
        """Whether a counter grew faster in any window than a bound in counts a second allows."""
        rates = [(self._count(key, name, value) / window.seconds, window) for window, value in self._told(key, name)]
        rate, window = max(rates, key=lambda each: each[0])
        what = " ".join(filter(None, (name.replace("_", " "), key.replace("_", " "))))
        rate = self.derived(f"{what.replace(' ', '_')}_per_second", round(rate, 2))
        return rate not in bound and Concern(f"{rate:g} {what} a second in {minute(window.at)} ({window.load}; limit {bound})")

    def often(self, key: str, bound: Bound) -> Concern | bool:
        """Whether a counter grew faster over all the loads than a bound in counts a minute allows: a link that wakes has a few at once."""
        counts = [(self._count(key, "", value), window) for window, value in self._told(key)]
        minutes = sum(window.seconds for _, window in counts) / 60
        rate = self.derived(f"{key}_per_minute", round(sum(count for count, _ in counts) / minutes, 1))
        most, window = max(counts, key=lambda each: each[0])
        return rate not in bound and Concern(f"{rate:g} {key.replace('_', ' ')} a minute under load (limit {bound}), {most:g} of them in "
                                             f"{minute(window.at)} ({window.load})")

    def _count(self, key: str, name: str, value: Any) -> float:
        if name:
            value = value.get(name) if isinstance(value, Mapping) else None
            if isinstance(value, Mapping) and "absent" in value:
                raise NotMeasured(f"{self.label}: {key}.{name}: {value['absent']}")
        (count,) = numbers([value], f"{self.label}: {key}{'.' if name else ''}{name}", 1)
        if count < 0:
            raise NotMeasured(f"{self.label}: {key} went backwards by {-count:g}: it started anew")
        return count

    def _told(self, key: str, name: str = "") -> Iterator[tuple[Window, Any]]:
        """Every window with a value; raises NotMeasured when one leaves it out, or too many say that it was not told."""
        if self.gaps or not self.windows:
            raise NotMeasured("; ".join(self.gaps) or f"{self.label}: no telemetry while a load ran")
        self.derived(f"{key}.{name}".rstrip("."), len(self.windows))
        silent = []
        for window in self.windows:
            if key not in window.told:
                raise NotMeasured(f"{self.label}: {key} is missing from the window at {window.at:g} s")
            value = window.told[key]
            silent += [str(value["absent"])] if isinstance(value, Mapping) and set(value) == {"absent"} else []
        if len(silent) > (1 - LEAST_TOLD) * len(self.windows):
            told = len(self.windows) - len(silent)
            raise NotMeasured(f"{self.label}: {key} was told in {told} of {len(self.windows)} windows: {silent[0]}")
        yield from ((window, window.told[key]) for window in self.windows if not _absent(window.told[key]))


def _absent(value: Any) -> bool:
    return isinstance(value, Mapping) and set(value) == {"absent"}


def windows_of(index: str, told: Sequence[Any]) -> tuple[list[Window], list[str]]:
    """The windows of one GPU in which a load ran, and what is wrong with the telemetry."""
    found, gaps = [], []
    for number, raw in enumerate(told):
        problem = _problem(raw, index)
        if problem:
            gaps.append(f"telemetry window {number}: {problem}")
        elif raw["load"]:
            found.append(Window(float(raw["t"]), float(raw["seconds"]), raw["load"], raw["gpus"][index]))
    return found, gaps[:3]


def _problem(raw: Any, index: str) -> str:
    """What is wrong with one window; empty when nothing is."""
    if not isinstance(raw, Mapping):
        return f"{raw!r:.60} is no window"
    for key, least, most in (("t", 0.0, 1e8), ("seconds", 1e-3, LONGEST_WINDOW)):
        value = raw.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or not least <= value <= most:
            return f"{key} is {value!r:.40}"
    if not isinstance(raw.get("load"), str):
        return f"load is {raw.get('load')!r:.40}"
    gpus = raw.get("gpus")
    return "" if isinstance(gpus, Mapping) and isinstance(gpus.get(index), Mapping) else f"nothing of GPU {index}"
