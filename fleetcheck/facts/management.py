"""What the management controller tells now: sensors, power supplies, fans, inlet, draw, chassis. Runs on the controller."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.growth import noted
from fleetcheck.facts.section import Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts, Reading, View

CRITICAL = frozenset({"cr", "nr", "lcr", "lnr", "ucr", "unr"})
SILENT = frozenset({"ns", "us"})
INLET = re.compile(r"inlet|intake|ambient|front.?panel.?temp", re.IGNORECASE)
SUPPLY = re.compile(r"^(PSU?[ _]?(\d|Redund|RDNDNT)|(Power|Pwr) (Suppl(y|ies)|Unit|Redundancy)|PWS)", re.IGNORECASE)
FAILED = re.compile(r"AC lost|input lost|Failure detected|Predictive failure|Config Error|out-of-range", re.IGNORECASE)
REDUNDANCY = re.compile(r"Redundancy (Lost|Degraded)|Non-Redundant|Not Redundant", re.IGNORECASE)
PRESENT = "Presence detected"
BAY = re.compile(r"10\.(\d+)$")
"""A power supply's entity and its number (IPMI 2.0 specification, table 43-13); some boards call all their sensors plainly "Status"."""
CHASSIS_FAULTS = ("Power Overload", "Main Power Fault", "Power Control Fault", "Drive Fault", "Cooling/Fan Fault")


class Sensor(View):
    """One sensor. text: the reading as the controller words it."""

    __slots__ = ()
    name = Reading(str)
    status = Reading(str)
    text = Reading(str)
    value = Reading(float)
    unit = Reading(str)

    @property
    def worded(self) -> str:
        """The reading's text; NotMeasured when it was not told."""
        text: Any = self.text
        if isinstance(text, Absent):
            raise NotMeasured(text.reason)
        return str(text)

    @property
    def of_supply(self) -> bool:
        """Whether it words the state of a power supply, by its name or by what it belongs to."""
        return self.unit == "" and bool(SUPPLY.match(self.name) or self.bay)

    @property
    def bay(self) -> str:
        """The number of the power supply that it belongs to; empty for every other sensor."""
        entity = self.raw.get("entity") if isinstance(self.raw, Mapping) else None
        found = BAY.match(entity) if isinstance(entity, str) else None
        return found[1] if found else ""

    @property
    def supply_trouble(self) -> Concern | None:
        """What a power supply says of itself; lost redundancy alone is noted, a failed supply names itself."""
        text, status = self.worded, self.status
        if FAILED.search(text):
            return Concern(f"{text}: replace the supply, or look at its cord and feed")
        if REDUNDANCY.search(text):
            return Concern(text, "warn", "observe")
        return Concern(f"{text} ({status})") if status in CRITICAL else None

    @property
    def critical(self) -> Concern | None:
        """Whether it is beyond a critical threshold of the controller's own."""
        status = self.status
        return Concern(f"{self.text}, beyond a critical threshold of the controller ({status})") if status in CRITICAL else None


class Chassis(Section):
    """Faults the controller knows of the machine as a whole."""

    __slots__ = ()

    @property
    def faults(self) -> list[str]:
        """Those that are set; NotMeasured when none is and one was not told."""
        words: dict[str, Any] = {name: self.get(name, str) for name in CHASSIS_FAULTS}
        odd = [word.reason for word in words.values() if isinstance(word, Absent)]
        told = {name: word for name, word in words.items() if not isinstance(word, Absent)}
        odd += [f"{name} is {word!r:.20}" for name, word in told.items() if word not in ("true", "false")]
        set_ = [name for name, word in told.items() if word == "true"]
        if odd and not set_:
            raise NotMeasured("; ".join(odd))
        return noted("chassis.faults", set_)


class Management:
    """All that the controller tells."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.told = View(data, "bmc")
        self.chassis = Chassis(data.get("chassis"), "chassis", Part("chassis", "chassis"))
        listed = self.told.get("sensors", list)
        broken = self.told.get("unreadable", list)
        self._gaps = [listed.reason] if isinstance(listed, Absent) else []
        self._gaps += [broken.reason] if isinstance(broken, Absent) else [f"not a sensor's line: {line!r:.60}" for line in broken]
        self._sensors = [] if isinstance(listed, Absent) else [Sensor(raw, "sensor", _part(raw)) for raw in listed]
        names: list[Any] = [sensor.name for sensor in self._sensors]
        self._gaps += [name.reason for name in names if isinstance(name, Absent)]

    @property
    def fans(self) -> Parts[Sensor]:
        """Every fan that reads its speed; a slot without a fan reads nothing. Skips where no fan is (liquid cooling)."""
        return self._some(lambda sensor: sensor.unit == "RPM", "fans", "the controller knows no fan", "fan")

    @property
    def supplies(self) -> Parts[Sensor]:
        """Every sensor of a power supply that words its state."""
        return self._some(lambda sensor: sensor.of_supply and sensor.status not in SILENT, "power supply states",
                          "the controller knows no power supply: the rack has them", "psu")

    @property
    def supply_count(self) -> int:
        """How many power supplies are in their bays."""
        states = self.supplies
        if states.gaps():
            raise NotMeasured("; ".join(states.gaps()))
        there = [sensor for sensor in states.present if PRESENT in sensor.worded]
        named = [sensor for sensor in there if SUPPLY.match(sensor.name)]
        return noted("bmc.supply_count", len(named or {sensor.bay for sensor in there}))

    @property
    def inlet(self) -> Parts[Sensor]:
        """The temperature of the air that comes in; there must be a sensor for it."""
        found = self._matching(lambda sensor: sensor.unit == "degrees C" and bool(INLET.search(sensor.name)))
        return Parts(found, "inlet sensors", len(found) or 1, self._gaps)

    @property
    def others(self) -> Parts[Sensor]:
        """Every sensor that is no fan, no power supply and not the inlet: those have checks of their own."""
        found = self._matching(lambda sensor: not (sensor.unit == "RPM" or sensor.of_supply or SUPPLY.match(sensor.name)
                                                   or INLET.search(sensor.name)))
        return Parts(found, "other sensors", len(found) or 1, self._gaps)

    @property
    def watts(self) -> float:
        """What the node draws."""
        power = View(self.told.raw.get("power") if isinstance(self.told.raw, Mapping) else self.told.raw, "bmc.power")
        watts: float = power.get("watts", float)
        return watts

    def _some(self, which: Callable[[Sensor], bool], what: str, none: str, kind: str) -> Parts[Sensor]:
        found = self._matching(which)
        if not found and not self._gaps and self._sensors:
            pytest.skip(none)
        views = [Sensor(sensor.raw, kind, Part(kind, _called(sensor, kind), _called(sensor, kind))) for sensor in found]
        return Parts(views, what, len(views) or 1, self._gaps)

    def _matching(self, which: Callable[[Sensor], bool]) -> list[Sensor]:
        return [sensor for sensor in self._sensors if not isinstance(sensor.name, Absent) and which(sensor)]


def _called(sensor: Sensor, kind: str) -> str:
    """A sensor's name; that of a supply says which, where the controller's does not."""
    return f"PS{sensor.bay} {sensor.label}" if kind == "psu" and sensor.bay and not SUPPLY.match(sensor.name) else sensor.label


def _part(raw: Any) -> Part:
    name = str(raw.get("name", "?")) if isinstance(raw, Mapping) else "?"
    return Part("sensor", name, name)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Management:
    """The controller's answers."""
    return Management(data)
