"""Fixtures that checks of several nodes share: what the trials of a run say of a node, of a pair, of all nodes of a kind."""

import pytest

from fleetcheck.facts.load_limits import limit


@pytest.fixture
def tried(interconnect, node, taking_part):
    """One node in all its trials."""
    return interconnect.node(node)


@pytest.fixture
def alone(interconnect, node, taking_part):
    """One node by itself."""
    return interconnect.alone(node)


@pytest.fixture
def gain(interconnect, node, taking_part, profile):
    """The least that NVLink SHARP must make of the bandwidth without it."""
    return limit(profile, "nvlink_sharp_gain")


@pytest.fixture
def link(interconnect, group, taking_part_by_node):
    """The link between two nodes."""
    return interconnect.pair(group)


@pytest.fixture
def whole(interconnect, group, taking_part_by_node):
    """All nodes of one profile."""
    return interconnect.whole(group)


@pytest.fixture
def efficiency(interconnect, group):
    """The least share of two nodes' bandwidth that more must reach."""
    return limit(interconnect.profile(group), "scaling_efficiency")


@pytest.fixture
def hidden(interconnect, group):
    """The least share of the longer alone that computation and communication must reach together."""
    return limit(interconnect.profile(group), "collective_overlap_ratio")


@pytest.fixture
def of_smaller_sizes(interconnect, group):
    """The least share of a smaller message's bandwidth that a larger one must reach."""
    return limit(interconnect.profile(group), "busbw_of_smaller_sizes")
