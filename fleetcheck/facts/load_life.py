"""How the loads of a node began and ended, and what they left of it. Runs on the controller."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.load_result import GPU_LOADS, HOST_LOADS, Result, accelerators, raw_of, snapshot
from fleetcheck.facts.section import Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts, Reading

_SOFTWARE = re.compile(r"No module named|ImportError|not installed|not found|no such file", re.IGNORECASE)
_NO_MEMORY = re.compile(
    r"out of memory|can't allocate memory|\bMemoryError\b|CUBLAS_STATUS_ALLOC_FAILED|bytes of memory are free", re.IGNORECASE)
"""Somebody else holds the memory: who, is told by the checks of idle GPUs; of the device this says nothing."""
_NUMBERS = re.compile(r"\d+|0x[0-9a-f]+")
ENDED_WELL = ("done", "deadline")


class Life(Section):
    """From start to end: state, why it ended, boot ids. results: of the loads that left one."""

    __slots__ = ("results",)
    state = Reading(str)
    ended_why = Reading(str)
    boot_id = Reading(str)
    started_boot_id = Reading(str)

    def __init__(self, raw: object, results: Mapping[str, Result]) -> None:
        super().__init__(raw, "load")
        self.results = results

    def rebooted(self) -> Concern | bool:
        """Whether the node started anew while it was loaded."""
        first, last = self.started_boot_id, self.boot_id
        if not first or not last:
            raise NotMeasured(f"boot id {first!r:.60} at the start of the loads, {last!r:.60} at their end")
        return first != last and Concern(f"the node rebooted under load: boot {first:.36}, then {last:.36}")

    def broke_off(self) -> Concern | bool:
        """Whether the loads ended otherwise than planned."""
        state, why = self.state, self.ended_why
        if state == "ended" and why in ENDED_WELL:
            return False
        if why == "stopped":
            raise NotMeasured("the loads were stopped before their end")
        return Concern(f"the loads are {state or 'in no state'!s:.60}: {why or 'no reason was told'!s:.200}")

    @property
    def loads(self) -> Parts[Result]:
        """Every load that was asked for."""
        return Parts(list(self.results.values()), "loads", unreadable=[] if self.results else ["no load left a result"])

    @property
    def failures(self) -> Parts[Break]:
        """Every device whose load broke off. A load that broke off as a whole, on all devices alike, for want of memory, or because the
        end of all came upon it, is no device's fault: a gap."""
        found: list[Break] = []
        gaps = [] if self.results else ["no load left a result"]
        for load, result in self.results.items():
            errors = {device: error for device in result.devices.present if (error := _text(device, "error"))}
            broken = {device: error for device, error in errors.items() if not _blameless(device)}
            alike = _of_the_software(broken.values(), len(result.devices.present))
            found += [] if alike else [Break(f"{load}: {error:.300}", device.part) for device, error in broken.items()]
            gaps += result.broken() if alike or not broken else []
        return Parts(found, f"breaks in {len(self.results)} loads", unreadable=gaps)


class Break(Section):
    """One device on which a load broke off."""

    __slots__ = ("concern",)

    def __init__(self, text: str, part: Part | None) -> None:
        super().__init__({}, "load", part)
        self.concern = Concern(text)


def _of_the_software(errors: Collection[str], devices: int) -> bool:
    """Whether errors tell of the software: nothing could be imported or found, or several devices all say the same."""
    said = {_NUMBERS.sub("", error) for error in errors}
    return bool(said) and (all(_SOFTWARE.search(error) for error in said) or (len(said) == 1 and len(errors) == devices > 1))


def _excused(result: Result) -> bool:
    """Whether all devices told something, and those that broke off did for a reason of ours."""
    broken = [device for device in result.devices.present if _text(device, "error")]
    return bool(broken) and all(map(_blameless, broken)) and len(result.devices.present) >= (result.promised or 1)


def _blameless(device: Section) -> bool:
    cut = isinstance(device.raw, Mapping) and device.raw.get("cut") is True
    return cut or bool(_NO_MEMORY.search(_text(device, "error")))


def _text(view: Section, key: str) -> str:
    value = view.get(key, str)
    if isinstance(value, Absent):
        raise NotMeasured(value.reason)
    return str(value)


def uncovered(result: Result) -> Concern | bool:
    """What a load left out; raises NotMeasured where it left nothing at all, or for a reason of ours."""
    if isinstance(result.raw, Absent):
        raise NotMeasured(result.raw.reason)
    gaps = result.uncovered()
    if gaps and _excused(result):
        raise NotMeasured("; ".join([*result.broken(), *gaps]))
    return bool(gaps) and Concern("; ".join(gap.removeprefix(f"{result.where} ") for gap in gaps))


def stood_in(result: Result) -> Concern | bool:
    """Whether processors stood in for the accelerators."""
    return result.stood_in and Concern("processors stood in for the accelerators: none of these was loaded")


def build(answers: Mapping[str, Any], profile: Profile, node: Node) -> Life:
    """The life of a node's loads."""
    expected = accelerators(profile, node) if profile.gpu else None
    before = snapshot(answers, "before", "gpu")
    apply = [*(GPU_LOADS if expected else ()), *(load for load in HOST_LOADS if load != "disk" or node.scratch)]
    results = {load: Result(raw_of(answers, load, node), load, expected if load in GPU_LOADS else None, before)
               for load in apply if load in answers}
    return Life(raw_of(answers, "load", node), results)


__all__ = ["Break", "Life", "build", "stood_in", "uncovered"]
