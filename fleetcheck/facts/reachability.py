"""What the node reaches: names, ports, the way out. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.asked import words
from fleetcheck.facts.named import listed, named
from fleetcheck.inventory import Node
from fleetcheck.profile import EndpointProfile, Profile, ReachProfile
from fleetcheck.recording import Concern
from fleetcheck.view import Parts, Reading, View


class Endpoint(View):
    """One port somewhere."""

    __slots__ = ("expected",)
    answers = Reading(bool)
    said = Reading(str)
    passes = Reading(bool)
    expected: EndpointProfile

    @property
    def closed(self) -> Concern | None:
        """Why it does not answer."""
        at = f"{self.expected.host} port {self.expected.port}"
        return None if self.answers else Concern(f"{at} does not answer: {self.said}")

    @property
    def narrow(self) -> Concern | None:
        """Whether a packet of the profile's size is cut or lost on the way; a silent endpoint is not measured here."""
        if not self.answers:
            raise NotMeasured(f"{self.label} does not answer: {self.said}")
        return None if self.passes else Concern(f"a packet of {self.expected.mtu_bytes} bytes does not reach {self.expected.host} whole")


class Name(View):
    """One host name."""

    __slots__ = ()
    said = Reading(str)

    @property
    def unknown(self) -> Concern | None:
        """Whether the node's resolver knows no address of it."""
        return None if listed(self, "addresses", str) else Concern(f"has no address: {self.said or 'the resolver knows no such name'}")


class Reach(View):
    """All that the profile asks the node to reach."""

    __slots__ = ("expected",)

    def __init__(self, data: Mapping[str, Any], expected: ReachProfile) -> None:
        super().__init__(data, "reach")
        self.expected = expected

    @property
    def default_routes(self) -> list[str]:
        """Interfaces with a default route that is up."""
        return listed(self, "default_routes", str)

    @property
    def endpoints(self) -> Parts[Endpoint]:
        """The profile's ports."""
        return self._endpoints([each for each in self.expected.endpoints], "endpoint")

    @property
    def wide_endpoints(self) -> Parts[Endpoint]:
        """Those to which packets of a size must pass."""
        return self._endpoints([each for each in self.expected.endpoints if each.mtu_bytes], "endpoint with an MTU")

    @property
    def names(self) -> Parts[Name]:
        """The profile's host names."""
        listed = words(self.expected.names)
        if not listed:
            pytest.skip("the profile lists no host name to resolve")
        return Parts([named(Name, self.raw, "names", name, "name") for name in listed], "names", len(listed))

    @property
    def needs_route(self) -> bool:
        """Whether the profile asks for a default route; skips where it does not."""
        return self.expected.default_route or bool(pytest.skip("the profile asks for no default route"))

    def _endpoints(self, listed: list[EndpointProfile], what: str) -> Parts[Endpoint]:
        if not listed:
            pytest.skip(f"the profile lists no {what}")
        views = [named(Endpoint, self.raw, "endpoints", each.name, "endpoint") for each in listed]
        for view, each in zip(views, listed, strict=True):
            view.expected = each
        return Parts(views, "endpoints", len(listed))


def build(data: Mapping[str, Any], profile: Profile, node: Node) -> Reach:
    """What the node reaches; skips where the profile asks for nothing."""
    if profile.reach is None:
        pytest.skip(f"profile {profile.name} names nothing that must be reached")
    return Reach(data, profile.reach)
