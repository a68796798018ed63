"""The processors of a node. Runs on the controller."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts.growth import Growth, noted
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.view import Nested, Reading, View


class Layout(View):
    """Counts among the processors that are online."""

    __slots__ = ()
    sockets = Reading(int)
    cores = Reading(int)
    threads = Reading(int)


class Clocks(View):
    """Lowest and highest of all processors, while one of them runs the probe."""

    __slots__ = ()
    highest = Reading(float)


class Cpu(View):
    """All processors."""

    __slots__ = ()
    layout = Nested(Layout)
    clocks = Nested(Clocks, "megahertz")
    throttled = Nested(Growth)

    @property
    def online(self) -> int:
        """How many processors are online, by the kernel's list."""
        return noted("cpu.online_count", counted(self.get("online", str)))

    @property
    def offline(self) -> int:
        """How many are present and not online."""
        return noted("cpu.offline_count", counted(self.get("present", str)) - self.online)

    @property
    def numa_nodes(self) -> int:
        """NUMA nodes, those of memory alone included."""
        nodes = self._mapping("numa_nodes")
        return noted("cpu.numa_node_count", len([self._text(nodes, name) for name in nodes]))

    @property
    def clock_share(self) -> float | None:
        """What the busiest processor reaches of the highest clock that the hardware has; None where the kernel knows none."""
        told = self.get("maximum_kilohertz", dict)
        if isinstance(told, Absent):
            if told.reason.startswith("no such file") or ": no such file" in told.reason:
                return None
            raise NotMeasured(told.reason)
        most = [int(text) for text in told if text.isdigit()]
        if not most or not max(most):
            raise NotMeasured(f"cpu.maximum_kilohertz: no clock in {list(told)!r:.80}")
        return noted("cpu.clock_share", round(self.clocks.highest * 1000 / max(most), 2))

    @property
    def governors(self) -> list[str]:
        """The frequency governors in use."""
        return [noted("cpu.governor", name) for name in self._mapping("governors")]

    def _mapping(self, key: str) -> Mapping[str, Any]:
        value = self.get(key, dict)
        if isinstance(value, Absent):
            raise NotMeasured(value.reason)
        return dict(value)

    def _text(self, values: Mapping[str, Any], name: str) -> str:
        if not isinstance(values[name], str):
            raise NotMeasured(f"cpu.numa_nodes.{name} is {values[name]!r:.80}")
        return str(values[name])


def counted(said: str) -> int:
    """How many processors a list of the kernel names.

    >>> counted("0-3,8"), counted("0")
    (5, 1)
    """
    if isinstance(said, Absent):
        raise NotMeasured(said.reason)
    ends = [re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip()) for part in said.split(",")]
    if not all(ends):
        raise NotMeasured(f"not a list of processors: {said!r:.80}")
    return sum(int(end[2] or end[1]) - int(end[1]) + 1 for end in ends if end)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Cpu:
    """The processors as told by the node."""
    return Cpu(data, "cpu")
