"""Telemetry of one node under load as curves of a few points each. Pure; every number comes from a node and is checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LEAST, MEAN, GREATEST = range(3)
CURVES: tuple[tuple[str, int, Callable[[Sequence[float]], float]], ...] = (
    ("temperature", GREATEST, max), ("power", MEAN, lambda values: sum(values) / len(values)),
    ("sm_clock", MEAN, lambda values: sum(values) / len(values)), ("utilisation", MEAN, lambda values: sum(values) / len(values)),
)
"""What is drawn of a GPU, which of a window's three numbers, and how several windows become one point: a heat peak must not vanish."""
SPEED = "tflops", "gb_s", "mb_s"
MOST_GPUS, MOST_SPEEDS, MOST_EVENTS = 72, 4, 40
LEAST_POINTS, MOST_POINTS = 12, 360


@dataclass
class Series:
    """at: seconds since the start, one a point; curves: {what: {GPU: values, None where not told}}; loads: [name, from, to]."""

    at: list[float]
    curves: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)
    loads: list[tuple[str, float, float]] = field(default_factory=list)
    events: list[tuple[float, str, str]] = field(default_factory=list)


def series(told: Mapping[str, Any], points: int) -> Series | None:
    """The curves of one node with about so many numbers in all; None where it told no window."""
    raw = told.get("windows")
    windows = [each for each in raw if _is_window(each)] if isinstance(raw, list) else []
    if not windows:
        return None
    windows.sort(key=lambda each: each["t"])
    gpus = list(dict.fromkeys(str(gpu) for each in windows for gpu in each["gpus"]))[:MOST_GPUS]
    speeds = _speeds(windows)
    affordable = points // max(1, len(gpus) * (len(CURVES) + len(speeds)))
    count = min(len(windows), max(LEAST_POINTS, min(MOST_POINTS, affordable)))
    groups = [windows[len(windows) * n // count : len(windows) * (n + 1) // count] for n in range(count)]
    found = Series([round(group[0]["t"] + group[0]["seconds"] / 2) for group in groups], loads=_loads(windows), events=_events(told))
    for name, which, fold in CURVES:
        _add(found, name, {gpu: [_point([_value(each["gpus"].get(gpu), name, which) for each in group], fold) for group in groups]
                           for gpu in gpus})
    for name in speeds:
        _add(found, name, {gpu: [_point([_value(_under(each, "metrics").get(gpu), name, MEAN) for each in group], min) for group in groups]
                           for gpu in gpus})
    return found


def _add(found: Series, name: str, curves: dict[str, list[float | None]]) -> None:
    told = {gpu: values for gpu, values in curves.items() if any(value is not None for value in values)}
    if told:
        found.curves[name] = told


def _is_window(each: Any) -> bool:
    return isinstance(each, Mapping) and isinstance(each.get("gpus"), Mapping) and all(
        _finite(each.get(key)) and 0 <= each[key] < 1e8 for key in ("t", "seconds"))


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e12


def _under(mapping: Any, key: str) -> Mapping[str, Any]:
    value = mapping.get(key) if isinstance(mapping, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def _value(told: Any, name: str, which: int) -> float | None:
    """One number of [least, mean, greatest]; None where the window does not tell it."""
    value = told.get(name) if isinstance(told, Mapping) else None
    usable = isinstance(value, list) and len(value) == 3 and _finite(value[which])
    return float(value[which]) if usable and value is not None else None


def _point(values: Sequence[float | None], fold: Callable[[Sequence[float]], float]) -> float | None:
    told = [value for value in values if value is not None]
    if not told:
        return None
    folded = fold(told)
    return round(folded) if abs(folded) >= 100 else round(folded, 1)


def _speeds(windows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The throughputs that loads told of their devices, by name."""
    names = (str(name) for each in windows for told in _under(each, "metrics").values() if isinstance(told, Mapping) for name in told)
    return list(dict.fromkeys(name for name in names if any(word in name for word in SPEED)))[:MOST_SPEEDS]


def _loads(windows: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, float]]:
    """Which load ran from when to when."""
    spans: list[tuple[str, float, float]] = []
    for each in windows:
        name, end = str(each.get("load") or "")[:24], each["t"] + each["seconds"]
        if spans and spans[-1][0] == name:
            spans[-1] = (name, spans[-1][1], end)
        else:
            spans.append((name, each["t"], end))
    return [span for span in spans if span[0]][:200]


def _events(told: Mapping[str, Any]) -> list[tuple[float, str, str]]:
    """What happened, as (seconds since the start, kind, text)."""
    raw = told.get("events")
    found = [each for each in raw if isinstance(each, Mapping) and _finite(each.get("t"))] if isinstance(raw, list) else []
    return [(round(each["t"]), str(each.get("kind", ""))[:24], str(each.get("text", ""))[:160]) for each in found[:MOST_EVENTS]]
