"""The node's own exporters. Missing samples say nothing of the hardware. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.asked import exporters
from fleetcheck.facts.defaults import limit
from fleetcheck.facts.growth import measured, noted
from fleetcheck.facts.named import listed, named, those
from fleetcheck.facts.services import Services
from fleetcheck.inventory import Node
from fleetcheck.profile import ExporterProfile, Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts, Reading, View


class Gauge(View):
    """The last Xid of one GPU, kept until the driver is loaded again."""

    __slots__ = ()
    xid = Reading(int)


class Exporter(View):
    """One exporter."""

    __slots__ = ("expected",)
    answers = Reading(bool)
    said = Reading(str)
    samples = Reading(int)
    newest_seconds = Reading(float)
    now_seconds = Reading(float)
    expected: ExporterProfile

    @property
    def silent(self) -> Concern | None:
        """Why it told nothing."""
        return None if self.answers and self.samples else Concern(f"does not answer: {self.said}")

    @property
    def age_seconds(self) -> float:
        """Of its newest sample, by the node's own clock."""
        return noted("exporter.age_seconds", self.now_seconds - self.newest_seconds, self.part)

    @property
    def tells_time(self) -> bool:
        """Whether its samples carry a time; most do not. NotMeasured while it is silent."""
        if not self.answers:
            raise NotMeasured(f"{self.label} does not answer: {self.said}")
        newest = self.newest_seconds
        if isinstance(newest, Absent) and "no sample carries a time" not in newest.reason:
            raise NotMeasured(newest.reason)
        return not isinstance(newest, Absent)

    @property
    def gpus(self) -> list[str]:
        """The GPUs it names."""
        return listed(self, "gpus", str)

    @property
    def gauges(self) -> list[Gauge]:
        """The Xid gauge of every GPU it names; none where it keeps none."""
        kept = measured(self.get("xids", dict))
        return [_gauge(name, kept.get(name)) for name in self.gpus] if kept else []


class Exporters:
    """The exporters of a node."""

    def __init__(self, data: Mapping[str, Any], profile: Profile) -> None:
        self.data = data
        self.profile = profile

    def expected(self, services: Services) -> Parts[Exporter]:
        """Those the profile lists, else the usual ones that the node has as a service."""
        views = [self._exporter(each) for each in exporters(self.profile)]
        if self.profile.monitoring is not None:
            return those(views, lambda _: True, "exporters", f"profile {self.profile.name} lists no exporter")
        return those(views, lambda view: services.unit(view.expected.name).is_enabled, "exporters",
                     "none of the usual exporters is a service here, and the profile lists none")

    def stopped(self, exporter: Exporter, services: Services) -> Concern | None:
        """What its service is instead of active, where it is one that starts at boot; another process may answer at its port."""
        unit = services.unit(exporter.expected.name)
        return unit.down if unit.is_enabled else None

    def timed(self, services: Services) -> Parts[Exporter]:
        """Those whose samples carry a time."""
        known = self.expected(services)
        found = those(known.present, lambda view: view.tells_time, "exporters", "no exporter here tells when its samples were taken")
        return Parts(found.present, "exporters", unreadable=(*known.unreadable, *found.unreadable))

    def of_gpus(self, services: Services) -> Parts[Exporter]:
        """Those that tell of GPUs."""
        known = self.expected(services)
        found = [view for view in known.present if view.expected.gpus]
        if not found and not known.unreadable:
            pytest.skip("no exporter here tells of GPUs")
        return Parts(found, "exporters", unreadable=known.unreadable)

    def gauges(self, services: Services) -> Parts[Gauge]:
        """The Xid gauge of every GPU that has one."""
        known = self.of_gpus(services)
        gauges, gaps = [], list(known.unreadable)
        for view in known.present:
            try:
                gauges += view.gauges
            except NotMeasured as gap:
                gaps.append(str(gap))
        if not gauges and not gaps:
            pytest.skip("no exporter here keeps an Xid gauge")
        return Parts(gauges, "gauges", unreadable=gaps)

    def _exporter(self, each: ExporterProfile) -> Exporter:
        view = named(Exporter, self.data, "exporters", each.name, "exporter")
        view.expected = each
        return view


def _gauge(name: str, value: object) -> Gauge:
    return Gauge({"xid": value}, "gauge", Part("gpu", f"GPU {name}", name))


def stale(profile: Profile) -> Any:
    """A predicate: whether the newest sample is older than two of the exporter's intervals."""
    usual = limit(profile, "exporter_age_seconds")
    return lambda exporter: exporter.age_seconds not in (exporter.expected.age_seconds or usual)


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Exporters:
    """The exporters as told by the node."""
    return Exporters(data, profile)
