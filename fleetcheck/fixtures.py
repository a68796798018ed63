"""The fixtures of a check: its node, the node's profile, and every fact. Runs on the controller.

They close over the session instead of asking for ``request``, which costs pytest a signature for every use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import pytest

from fleetcheck.facts.interconnect import Interconnect
from fleetcheck.facts.registry import Fact
from fleetcheck.fleet import Fleet
from fleetcheck.groups import BY_NODE, ByNode, Group
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.session import FLEET

NO_FLEET = "only functions marked @pytest.mark.check run once per node, and only with --inventory FILE"


def fixtures(config: pytest.Config, facts: Sequence[Fact]) -> ModuleType:
    """A plugin with ``node``, ``profile``, ``group`` and two fixtures per fact."""
    plugin = ModuleType("fleetcheck.facts", "Fixtures of one session.")
    plugin.__dict__.update({fact.name: _fact(config, fact) for fact in facts}, node=_node, profile=_profile(config), group=_group,
                           simulated=_simulated(config), interconnect=_interconnect(config))
    plugin.__dict__.update({fact.name + BY_NODE: _fact_by_node(config, fact) for fact in facts})
    return plugin


def _fleet(config: pytest.Config) -> Fleet:
    if FLEET not in config.stash:
        raise pytest.UsageError(NO_FLEET)
    return config.stash[FLEET]


@pytest.fixture(name="node")
def _node() -> Node:
    """The node under check."""
    raise pytest.UsageError(NO_FLEET)


@pytest.fixture(name="group")
def _group() -> Group:
    """The nodes under check, of a check of several."""
    raise pytest.UsageError(NO_FLEET)


def _profile(config: pytest.Config) -> Callable[..., Any]:
    @pytest.fixture(name="profile")
    def build(node: Node) -> Profile:
        """What is expected of the node under check."""
        return _fleet(config).inventory.profiles[node.profile]

    return build


def _simulated(config: pytest.Config) -> Callable[..., Any]:
    @pytest.fixture(name="simulated")
    def build() -> bool:
        """Whether the fleet is a simulated one."""
        return _fleet(config).inventory.sandbox is not None

    return build


def _interconnect(config: pytest.Config) -> Callable[..., Any]:
    @pytest.fixture(name="interconnect")
    def build() -> Interconnect:
        """What trials of several nodes say of nodes, links and the fleet."""
        return _fleet(config).interconnect

    return build


def _fact(config: pytest.Config, fact: Fact) -> Callable[..., Any]:
    def build(node: Node) -> Any:
        return _fleet(config).fact(node, fact)

    build.__doc__ = f"{fact.collector} of one node, from {fact.probe}."
    return pytest.fixture(name=fact.name)(build)


def _fact_by_node(config: pytest.Config, fact: Fact) -> Callable[..., Any]:
    def build(group: Group) -> ByNode:
        return ByNode(group, lambda node: _fleet(config).fact(node, fact))

    build.__doc__ = f"{fact.collector} of every node of a group, from {fact.probe}."
    return pytest.fixture(name=fact.name + BY_NODE)(build)
