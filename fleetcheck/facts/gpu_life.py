"""Which GPUs are lost, need a reset or lack power, by NVML's codes on any call. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import NotMeasured
from fleetcheck.facts.driver import Driver
from fleetcheck.facts.gpu import entries, expected, part_of
from fleetcheck.facts.gpu_state import Calls
from fleetcheck.facts.section import Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Nested, Parts, Reading

LOSSES = ("GPU_IS_LOST", "IRQ_ISSUE")
UNKNOWN_MEANS_LOST = frozenset({"nvmlDeviceGetHandleByIndex", "nvmlDeviceGetNvLinkState", "nvmlDeviceGetRemappedRows"})
"""Calls that do not document GPU_IS_LOST and answer UNKNOWN (999) instead; elsewhere one 999 is one failed reading."""
UNKNOWN_CALLS = 3


class Handle(Section):
    """One index of NVML, with or without a handle."""

    handle_code = Reading(str)
    calls = Nested(Calls)

    __slots__ = ("driver",)

    def __init__(self, raw: object, where: str, part: Part | None = None, driver: Driver | None = None) -> None:
        """``driver``: knows whether NVML was asked inside a container."""
        super().__init__(raw, where, part)
        self.driver = driver or Driver(None, "driver")

    def returned(self, code: str) -> Concern | bool:
        """Whether the handle call or any other returned a code."""
        calls = self._calls(code)
        return bool(calls) and Concern(f"NVML returned {code} to {_listed(calls)}")

    @property
    def lost(self) -> Concern | bool:
        """Whether this GPU is gone; UNKNOWN counts when several calls say it, or one that means a loss by it."""
        for code in LOSSES:
            if found := self.returned(code):
                return found
        unknown = self._calls("UNKNOWN")
        if not (UNKNOWN_MEANS_LOST & set(unknown) or len(unknown) >= UNKNOWN_CALLS):
            return False
        if self.driver.in_container:  # a reload of systemd takes device access from containers: the host must be asked
            raise NotMeasured(f"{self.label}: NVML returned UNKNOWN inside a container; ask on the host")
        return self.returned("UNKNOWN")

    def _calls(self, code: str) -> list[str]:
        handle = ["nvmlDeviceGetHandleByIndex"] if self.handle_code == code else []
        return list(dict.fromkeys([*handle, *self.calls.said(code)]))


def handles(answer: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Handle]:
    """Every index NVML counts, lost ones too."""
    driver = Driver(answer.get("driver"), "driver")
    views = [Handle(raw, "gpu", part_of(raw, answer), driver) for raw in entries(answer)]
    return Parts(views, "GPUs", expected(profile))


def _listed(calls: list[str]) -> str:
    return calls[0] if len(calls) == 1 else f"{calls[0]} and {len(calls) - 1} more"
