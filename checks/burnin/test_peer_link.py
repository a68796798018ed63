"""Copies between every pair of accelerators, each direction, with the data compared."""

import pytest

from fleetcheck.facts.load_limits import known, limit
from fleetcheck.facts.load_link import relative_bound, slow_ends
from fleetcheck.facts.load_ready import pairs, real

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def floor(profile):
    """GB/s in one direction of a pair."""
    return known(profile, "peer_gbytes_per_second")


@pytest.fixture
def real_ends(peerlink_load, node, floor):
    """Accelerators at the end of links below the floor."""
    real(peerlink_load, node)
    return slow_ends(pairs(peerlink_load, node), peerlink_load.devices, floor)


@pytest.fixture
def odd_ends(peerlink_load, node, profile):
    """Accelerators at the end of links far slower than the median."""
    found = pairs(peerlink_load, node)
    return slow_ends(found, peerlink_load.devices, relative_bound(found, limit(profile, "load_peer_fraction")))


@pytest.mark.check(component="nvlink", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_peer_links_are_fast_enough(real_ends):
    """Every pair of GPUs exchanges data as fast as its links allow. The GPU at the end of the slow ones: reset it, then replace it."""
    assert not real_ends.offending(lambda end: end.concern())


@pytest.mark.check(component="nvlink", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_pair_of_gpus_is_slower_than_the_others(odd_ends):
    """No pair of GPUs is far slower than the median pair. The GPU at the end of the slow ones: look at its NVLinks."""
    assert not odd_ends.offending(lambda end: end.concern())


@pytest.mark.check(component="nvlink", severity="fatal", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_data_arrives_whole_between_gpus(peerlink_load, node):
    """What one GPU sent another arrived. A path that alters data unnoticed spoils collectives: reset, then replace the GPU named."""
    assert not pairs(peerlink_load, node).offending(lambda link: link.wrong())
