"""Telemetry of a node while loads ran: its GPUs window by window, and what happened. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.load_events import Events, readable_kernel_log
from fleetcheck.facts.load_result import GPU_LOADS, HOST_LOADS, board_of, raw_of, snapshot, stands_in
from fleetcheck.facts.load_window import LoadedGpu, windows_of
from fleetcheck.facts.section import Section
from fleetcheck.inventory import Node
from fleetcheck.profile import GpuProfile, Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts

COVERED = 0.8
"""The share of a load's own time that windows must cover; they end on the clock, not with the load."""
WINDOW_SECONDS = 10.0


class Telemetry(Section):
    """What was sampled under load. events: what happened; gaps: loads that were not watched all the time."""

    __slots__ = ("events", "gaps", "gpus")

    def __init__(self, raw: Any, answers: Mapping[str, Any], expected: int) -> None:
        """``expected``: how many GPUs the profile promises."""
        super().__init__(raw, "telemetry")
        before = snapshot(answers, "before", "gpu")
        told = self._listed("windows")
        self.gaps = [*([] if isinstance(told, list) else [told.reason]), *unwatched(told if isinstance(told, list) else [], answers)]
        self.gpus = self._gpus(told if isinstance(told, list) else [], before, expected)
        parts = [view.part for view in self.gpus.present if view.part]
        self.events = Events(self._listed("events"), parts, self.gaps, unreadable_log(answers))

    def unwatched(self) -> Concern | bool:
        """Which loads were not sampled all the time; raises NotMeasured where there is no telemetry at all."""
        if isinstance(self._listed("windows"), Absent):
            raise NotMeasured("; ".join(self.gaps))
        return bool(self.gaps) and Concern("; ".join(self.gaps))

    def _listed(self, key: str) -> Any:
        if isinstance(self.raw, Absent):
            return self.raw
        value = self.raw.get(key)
        return value if isinstance(value, list) else Absent(f"telemetry.{key} is {value!r:.60}, not a list")

    def _gpus(self, told: Sequence[Any], before: Mapping[str, Any], expected: int) -> Parts[LoadedGpu]:
        found = []
        for index in range(expected):
            windows, gaps = windows_of(str(index), told)
            uuid = windows[0].told.get("uuid") if windows else ""
            board = board_of(uuid, before)
            place, serial = board.get("address"), board.get("serial")
            part = Part("gpu", f"GPU {index}", place if isinstance(place, str) else "", serial if isinstance(serial, str) else "")
            found.append(LoadedGpu({}, part, windows, gaps))
        return Parts(found, "GPUs", expected, self.gaps)


def unwatched(told: Sequence[Any], answers: Mapping[str, Any]) -> list[str]:
    """Loads whose own time the windows do not cover: what was not sampled was not watched."""
    seen: dict[str, float] = {}
    for window in told:
        if isinstance(window, Mapping) and isinstance(window.get("load"), str):
            seconds = window.get("seconds")
            usable = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 < seconds < 1e6
            seen[window["load"]] = seen.get(window["load"], 0.0) + (float(seconds) if usable and seconds is not None else 0.0)
    lasted = {load: _seconds(answers.get(load)) for load in (*GPU_LOADS, *HOST_LOADS, "dcgm") if load in answers}
    return [f"telemetry covers {seen.get(load, 0):.0f} of {seconds:.0f} s of {load}" for load, seconds in lasted.items()
            if seen.get(load, 0.0) < COVERED * seconds - 2 * WINDOW_SECONDS or (seconds > 2 * WINDOW_SECONDS and load not in seen)]


def _seconds(answer: Any) -> float:
    """How long a load says that it ran; 0 where it does not say."""
    value = answer.data.get("seconds") if answer is not None and isinstance(answer.data, Mapping) else None
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e7
    return float(value) if usable and value is not None else 0.0


def unreadable_log(answers: Mapping[str, Any]) -> list[str]:
    """Why events of the kernel log may be missing: before or after the loads it could not be read."""
    found = [readable_kernel_log(snapshot(answers, when, "kernel_log"), f"{when} the loads") for when in ("before", "after")]
    return [problem for problem in found if problem]


def build(answers: Mapping[str, Any], profile: Profile, node: Node) -> Telemetry:
    """The telemetry of a node's loads."""
    expected = int(profile.gpu.count.low or 0) if profile.gpu else 0
    return Telemetry(raw_of(answers, "telemetry", node), answers, expected)


def sampled(telemetry: Telemetry, key: str) -> Parts[LoadedGpu]:
    """The GPUs under load; skips the check where no GPU tells a value at any time, since its hardware has none."""
    gpus = telemetry.gpus
    codes = {_code(gpu, key) for gpu in gpus.present}
    if codes and codes <= {"NOT_SUPPORTED", "FUNCTION_NOT_FOUND"}:
        pytest.skip(f"no GPU reports its {key}: {', '.join(sorted(codes))}")
    return gpus


def linked(telemetry: Telemetry, gpu: GpuProfile) -> Parts[LoadedGpu]:
    """The GPUs under load; skips the check where they have no NVLinks."""
    if gpu.nvlinks is None:
        pytest.skip("the profile promises no NVLinks")
    return sampled(telemetry, "nvlink_errors")


def busy(telemetry: Telemetry, node: Node) -> Parts[LoadedGpu]:
    """The GPUs that loads kept busy; skips the check where the inventory has processors stand in for them, which no GPU feels."""
    if stands_in(node):
        pytest.skip("the inventory lets processors stand in for the accelerators: no GPU was loaded")
    return telemetry.gpus


def _code(gpu: LoadedGpu, key: str) -> str:
    """Why a value is told in no window: its one reason; empty where it is told in some."""
    reasons = {str(value.get("absent", "")) if isinstance(value := window.told.get(key), Mapping) else "" for window in gpu.windows}
    if not reasons:
        raise NotMeasured("; ".join(gpu.gaps) or f"{gpu.label}: no telemetry while a load ran")
    return reasons.pop() if len(reasons) == 1 else ""
