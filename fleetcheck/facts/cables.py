"""Cables, modules and the adapters that hold them: the RDMA ports and interfaces a profile names. Runs on the controller."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.growth import noted
from fleetcheck.facts.section import Section, numbers_of
from fleetcheck.facts.training import settled
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Nested, Parts, Reading, View

NO_TROUBLE = 0
NO_INFORMATION = 1023
"""What the firmware says of a port that it cannot judge; mlxlink itself shows it like no trouble."""
COPPER = ("copper", "passive", "dac", "twisted pair")
EITHER_KIND = "active copper / optics"
"""mlxlink's one kind for active cables, of copper and of glass: only the technology tells which."""
TRAINING_LOSSES = 3
"""How often a sound link comes and goes until it stands after a boot."""
DAY_SECONDS = 86400.0


class Module(Section):
    """The module of a port; a copper cable has no electronics to tell of."""

    __slots__ = ()

    @property
    def copper(self) -> bool:
        """Whether the cable is plain copper, by its own words."""
        words = f"{self.code('technology')} {self.raw.get('technology') if isinstance(self.raw, Mapping) else ''} " + str(
            self.raw.get("kind") if isinstance(self.raw, Mapping) else "")
        return any(word in words.lower().replace(EITHER_KIND, "") for word in COPPER)

    def outside(self, name: str, bound: Bound | None = None) -> Concern | None:
        """A reading beyond the limit, or beyond the range the module gives itself; one of the two must be known."""
        told = View(self.raw.get(name) if isinstance(self.raw, Mapping) else self.raw, f"module.{name}", self.part)
        values = told.get("values", list)
        values = values if isinstance(values, Absent) else numbers_of(values, f"{self.label}: {name}")
        if isinstance(values, Absent):
            raise NotMeasured(values.reason)
        beyond = [value for value in values if bound is not None and value not in bound]
        low, high = _end(told, "low"), _end(told, "high")
        if bound is None and not math.isfinite(high - low):
            raise NotMeasured(f"{self.label}: {name}: the module gives no range of its own")
        beyond += [value for value in values if not low <= value <= high]
        if not beyond:
            return None
        limits = [str(bound)] if bound else []
        limits += [f"{low:g} to {high:g} by the module itself"] if math.isfinite(high - low) else []
        return Concern(f"{name} {', '.join(f'{value:g}' for value in dict.fromkeys(beyond))} (limit {', '.join(limits)})")

    def has_range(self, name: str) -> bool:
        """Whether the module gives a range of its own for a reading."""
        told = self.raw.get(name) if isinstance(self.raw, Mapping) else None
        ends = [told.get(end) for end in ("low", "high")] if isinstance(told, Mapping) else [None]
        return any(isinstance(end, Mapping) and "at" in end for end in ends)


def _end(told: View, end: str) -> float:
    """One end of the range a module gives itself; open where it gives none."""
    raw = told.raw.get(end) if isinstance(told.raw, Mapping) else None
    box = View(raw, f"{told.where}.{end}", told.part)
    return {"low": -math.inf, "high": math.inf}[end] if isinstance(box.raw, Absent) else float(box.get("at", float))


class Port(View):
    """What the adapter's firmware makes of its link."""

    __slots__ = ()
    status_opcode = Reading(int)
    recommendation = Reading(str)
    effective_error_rate = Reading(float)
    link_downs = Reading(int)


class Cable(Section):
    """One RDMA device with its link and module."""

    __slots__ = ("boot",)
    width = Reading(int)
    firmware = Reading(str)
    link = Nested(Port)
    module = Nested(Module)

    def __init__(self, raw: object, name: str, data: Mapping[str, Any]) -> None:
        super().__init__(raw, "cable", Part("nic", name, name, _serial(raw)))
        self.boot = View(data, "modules", self.part)

    @property
    def trouble(self) -> Concern | None:
        """What the firmware recommends, when it sees anything wrong."""
        opcode = self.link.status_opcode
        if opcode == NO_TROUBLE:
            return None
        if opcode == NO_INFORMATION:
            raise NotMeasured(f"{self.label}: its firmware has no information about the port (status {opcode})")
        settled(self.boot, f"port {self.label}")
        return Concern(f"{self.link.recommendation} (status {opcode})")

    @property
    def losses_per_day(self) -> float:
        """How often a day the link went down, training left out."""
        return _per_day(self.link.link_downs, self.boot, self)


class Interface(Section):
    """One Ethernet interface with its module."""

    __slots__ = ("boot",)
    driver = Reading(str)
    firmware = Reading(str)
    carrier_losses = Reading(int)
    module = Nested(Section)

    def __init__(self, raw: object, name: str, data: Mapping[str, Any]) -> None:
        super().__init__(raw, "interface", Part("nic", name, name))
        self.boot = View(data, "modules", self.part)

    @property
    def alarms(self) -> Concern | None:
        """The alarms its module raises."""
        alarms = self.module.texts("alarms")
        return Concern(f"the module raises: {', '.join(alarms)}") if alarms else None

    @property
    def has_no_module(self) -> bool:
        """Whether the port takes no module, or a plain copper cable: the driver says so."""
        said = str(self.module.code("alarms"))
        return "not supported" in said.lower() or "tells no alarms" in said

    @property
    def losses_per_day(self) -> float:
        """How often a day the carrier went away, training left out."""
        return _per_day(self.carrier_losses, self.boot, self)


def _per_day(losses: int, boot: View, view: View) -> float:
    days: float = max(boot.get("uptime_seconds", float) / DAY_SECONDS, 1.0)
    return noted(f"{view.where}.losses_per_day", round(max(0, losses - TRAINING_LOSSES) / days, 2), view.part)


def telling(cables: Parts[Cable], which: Callable[[Cable], bool], what: str) -> Parts[Cable]:
    """The cables whose module tells a value; skips the check where none can. One that should and does not is not measured."""
    able = [cable for cable in cables.present if which(cable)]
    if cables.present and not able:
        pytest.skip(f"no cable of this node tells {what}")
    return Parts(able, cables.what, len(able), cables.unreadable)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Cable]:
    """One part per RDMA device of the profile; skips where it names none."""
    if profile.hcas is None:
        pytest.skip(f"profile {profile.name} names no RDMA devices")
    names = profile.hcas.names
    return Parts([Cable(_of(data, "devices", name), name, data) for name in names], "cables", len(names))


def build_interfaces(data: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Interface]:
    """One part per physical interface of the profile; skips where it names none."""
    if profile.links is None:
        pytest.skip(f"profile {profile.name} names no network interfaces")
    names = profile.links.names
    return Parts([Interface(_of(data, "interfaces", name), name, data) for name in names], "interfaces", len(names))


def modular(interfaces: Parts[Interface]) -> Parts[Interface]:
    """The interfaces with a module that has electronics; skips where none has."""
    able = [each for each in interfaces.present if not each.has_no_module]
    if interfaces.present and not able:
        pytest.skip("no interface of this node has a module that tells of itself")
    return Parts(able, "interface modules", len(able))


def _of(data: Mapping[str, Any], kind: str, name: str) -> Any:
    found = data.get(kind)
    if isinstance(found, Mapping) and set(found) != {"absent"}:
        return found.get(name, {"absent": f"the node has no {name}"})
    return found


def _serial(raw: object) -> str:
    module = raw.get("module") if isinstance(raw, Mapping) else None
    serial = module.get("serial") if isinstance(module, Mapping) else None
    return serial if isinstance(serial, str) else ""
