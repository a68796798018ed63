"""What a load left: its devices, its links between them, how much of the node it covered. Runs on the controller."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.load_device import Device
from fleetcheck.facts.load_link import Link, link_of
from fleetcheck.facts.section import Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Part
from fleetcheck.view import Parts, Reading

GPU_LOADS = ("gemm", "hbm", "memtest", "hostlink", "peerlink", "sdc", "overlap")
HOST_LOADS = ("cpu", "dram", "disk")
REAL = ("GPU-", "MIG-")
"""How the uuid of an accelerator begins; a stand-in on the processors has another."""
_COVERAGE = re.compile(r"(\d{1,6}) of (\d{1,6})\b")


class Result(Section):
    """One load on one node. devices: those that told something; a load that broke off leaves gaps, its faults still count."""

    __slots__ = ("before", "devices", "links", "promised")
    seconds = Reading(float)

    def __init__(self, raw: object, load: str, expected: int | None, before: Mapping[str, Any]) -> None:
        """``expected``: how many devices there must be; None: at least one. before: the node's snapshots before all loads."""
        super().__init__(raw, load)
        self.before = before
        self.promised = expected
        self.devices = self._devices(expected)
        self.links = [link_of(each, load, self.devices) for each in self._listed("links")]

    @property
    def software(self) -> str:
        """What computed it, in one word for comparing: torch, CUDA and cuDNN versions."""
        told = self.get("software", dict)
        if isinstance(told, Absent):
            raise NotMeasured(told.reason)
        return ", ".join(f"{name} {told[name]}" for name in ("torch", "cuda", "cudnn") if told.get(name))

    @property
    def stood_in(self) -> bool:
        """Whether processors stood in for the accelerators."""
        uuids = [device.uuid for device in self.devices.present]
        if not uuids:
            raise NotMeasured("; ".join(self.devices.gaps()))
        return not all(uuid.startswith(REAL) for uuid in uuids if uuid)  # truth of an Absent raises NotMeasured

    def _listed(self, key: str) -> list[Any]:
        found = self.raw.get(key) if isinstance(self.raw, Mapping) else None
        return found if isinstance(found, list) else []

    def _devices(self, expected: int | None) -> Parts[Device]:
        entries = self._listed("devices")
        views = [Device(each, self.where, part_of(each, self.where, self.before)) for each in entries]
        labels = [view.label for view in views]
        twice = [f"{label} is told twice" for label in dict.fromkeys(labels) if labels.count(label) > 1]
        promised = expected if expected is not None else max(1, len(views))
        gaps = [*twice, *self.broken(), *self._left_out(promised)]
        counted = None if gaps and (len(views) == promised or isinstance(self.raw, Absent)) else promised
        return Parts(views, "accelerators" if expected is not None else "devices", counted, gaps)

    def uncovered(self) -> list[str]:
        """Devices that a load left out, in words."""
        promised = self.promised or max(1, len(self.devices.present))
        count = len(self.devices.present)
        missing = [] if count == promised else [f"{self.where} told of {count} of {promised} {self.devices.what}"]
        return [*missing, *self._left_out(promised)]

    def broken(self) -> list[str]:
        """Why the load as a whole tells less than it should."""
        if isinstance(self.raw, Absent):
            return [self.raw.reason]
        ok, error = self.raw.get("ok"), self.raw.get("error")
        return [] if ok is True and error == "" else [f"{self.where} did not end well: {error or ok!s:.200}"]

    def _left_out(self, promised: int) -> list[str]:
        coverage = self.raw.get("coverage") if isinstance(self.raw, Mapping) else ""
        covered = _COVERAGE.match(coverage) if isinstance(coverage, str) else None
        if covered is None:
            return [f"{self.where}: coverage is {coverage!r:.40}"] if isinstance(self.raw, Mapping) else []
        return [] if int(covered[1]) >= promised else [f"{self.where} covered {coverage:.40}, not {promised}"]


def part_of(raw: object, load: str, before: Mapping[str, Any]) -> Part:
    """Which board a device of a result is: place and serial as the snapshot before the loads knows it, found by its uuid."""
    raw = raw if isinstance(raw, Mapping) else {}
    index, uuid = raw.get("index"), raw.get("uuid")
    if load in HOST_LOADS:
        return Part("disk" if load == "disk" else "cpu" if load == "cpu" else "memory", str(raw.get("name") or load)[:200])
    label = f"GPU {index}" if isinstance(index, int) and not isinstance(index, bool) else "GPU ?"
    board = board_of(uuid, before)
    place, serial = board.get("address"), board.get("serial")
    return Part("gpu", label, place if isinstance(place, str) else "", serial if isinstance(serial, str) else "")


def board_of(uuid: object, before: Mapping[str, Any]) -> Mapping[str, Any]:
    """The identity of the GPU with this uuid in the answer of the gpu collector; empty where it is in none."""
    entries = before.get("gpus")
    for each in entries if isinstance(entries, list) else []:
        identity = each.get("identity") if isinstance(each, Mapping) else None
        if isinstance(identity, Mapping) and uuid and identity.get("uuid") == uuid:
            return identity
    return {}


def snapshot(answers: Mapping[str, Any], when: str, collector: str) -> Mapping[str, Any]:
    """What a collector told before or after the loads; empty where it told nothing."""
    found: Any = getattr(answers.get("snapshots"), "data", {})
    for key in (when, collector):
        found = found.get(key) if isinstance(found, Mapping) else None
    if isinstance(found, Mapping) and {"ok", "data"} <= set(found):
        found = found["data"]
    return found if isinstance(found, Mapping) else {}


def stands_in(node: Node) -> bool:
    """Whether the inventory says that processors stand in for the accelerators of a node (``load: {device: cpu}``)."""
    return bool((node.load or {}).get("device") == "cpu")


def accelerators(profile: Profile, node: Node) -> int:
    """How many must be loaded: as many as the profile promises; of stand-ins as many as the inventory asks for."""
    promised = int(profile.gpu.count.low or 0) if profile.gpu else 0
    return int((node.load or {}).get("devices") or promised) if stands_in(node) else promised


def wanted(load: str, node: Node) -> None:
    """Skip the check of a load that the inventory leaves out."""
    chosen = (node.load or {}).get("loads")
    if chosen and load not in chosen:
        pytest.skip(f"the inventory leaves {load} out: load: {{loads: [{', '.join(chosen)}]}}")


def raw_of(answers: Mapping[str, Any], load: str, node: Node) -> Any:
    """What a load left, whether it ended well or not; Absent with the reason where it left nothing."""
    answer = answers.get(load)
    if answer is None:
        return Absent(f"{node.name}: {load} did not run")
    return answer.data or Absent(f"{node.name}: {load}: {answer.error or 'left nothing'}")


def gpu_load(load: str) -> Callable[[Mapping[str, Any], Profile, Node], Result]:
    """How the result of a load on accelerators becomes a view."""
    def build(answers: Mapping[str, Any], profile: Profile, node: Node) -> Result:
        if profile.gpu is None:
            pytest.skip(f"profile {profile.name} has no GPUs")
        wanted(load, node)
        return Result(raw_of(answers, load, node), load, accelerators(profile, node), snapshot(answers, "before", "gpu"))

    return build


def host_load(load: str) -> Callable[[Mapping[str, Any], Profile, Node], Result]:
    """How the result of a load on processors, memory or a disk becomes a view; a disk load needs a declared scratch path."""
    def build(answers: Mapping[str, Any], profile: Profile, node: Node) -> Result:
        if load == "disk" and not node.scratch:
            pytest.skip("the inventory declares no scratch path for this node")
        wanted(load, node)
        return Result(raw_of(answers, load, node), load, None, {})

    return build


__all__ = ["GPU_LOADS", "HOST_LOADS", "Device", "Link", "Result", "accelerators", "gpu_load", "host_load", "part_of", "raw_of", "snapshot",
           "stands_in", "wanted"]
