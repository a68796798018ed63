"""Fixtures that several checks of loads share: what applies to this node, and accelerators that were free before the loads."""

import pytest

from fleetcheck.facts.load_limits import limit
from fleetcheck.facts.load_ready import accelerators


@pytest.fixture
def gpu_profile(profile):
    """What the profile promises of the GPUs; skips checks of GPUs on a node without any."""
    if profile.gpu is None:
        pytest.skip(f"profile {profile.name} has no GPUs")
    return profile.gpu


@pytest.fixture
def peer_fraction(profile):
    """How much of the other accelerators' median each must reach."""
    return limit(profile, "load_peer_fraction")


@pytest.fixture
def drift_fraction(profile):
    """How much of its first tenth a load must reach in its last."""
    return limit(profile, "load_drift_fraction")


@pytest.fixture
def matmul(gemm_load, node):
    """The accelerators that multiplied, each alone on its own: one in use before the loads tells no rate."""
    return accelerators(gemm_load, node)


@pytest.fixture
def copied(hbm_load, node):
    """The accelerators that copied within their memory."""
    return accelerators(hbm_load, node)
