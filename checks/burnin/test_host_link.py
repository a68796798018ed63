"""Copies between host and accelerators, both ways, from each NUMA side."""

import pytest

from fleetcheck.facts.load_device import behind_peers
from fleetcheck.facts.load_limits import known
from fleetcheck.facts.load_ready import accelerators, host_links, real
from fleetcheck.facts.load_sides import sides

pytestmark = pytest.mark.usefixtures("gpu_profile")
RATES = ("h2d_gb_s", "d2h_gb_s")


@pytest.fixture
def to_device(profile):
    """GB/s from host to accelerator."""
    return known(profile, "host_to_device_gbytes_per_second")


@pytest.fixture
def to_host(profile):
    """GB/s from accelerator to host."""
    return known(profile, "device_to_host_gbytes_per_second")


@pytest.fixture
def real_copying(hostlink_load, node):
    """Accelerators to which floors apply."""
    return real(hostlink_load, node)


@pytest.fixture
def copying(hostlink_load, node):
    """The accelerators that copied from and to the host."""
    return accelerators(hostlink_load, node)


@pytest.mark.check(component="pcie", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_host_to_gpu_copies_are_fast_enough(real_copying, to_device):
    """Every GPU takes data from its host as fast as its link allows. Look at link width, IOMMU and NUMA settings."""
    assert not real_copying.offending(lambda gpu: gpu.least("h2d_gb_s") not in to_device)


@pytest.mark.check(component="pcie", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpu_to_host_copies_are_fast_enough(real_copying, to_host):
    """Every GPU gives data to its host as fast as its link allows. Look at link width, IOMMU and NUMA settings."""
    assert not real_copying.offending(lambda gpu: gpu.least("d2h_gb_s") not in to_host)


@pytest.mark.check(component="pcie", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_host_link_is_slower_than_its_peers(copying, peer_fraction):
    """No GPU's link to the host is far slower than the others'. Look at its slot, riser and link width."""
    assert not copying.offending(lambda gpu: behind_peers(gpu, copying, RATES, peer_fraction))


@pytest.mark.check(component="dram", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_side_of_the_host_is_slower_than_the_others(hostlink_load, node, peer_fraction):
    """Every NUMA node feeds its own GPUs as fast as the others feed theirs. Look at its memory modules, channels and firmware settings."""
    assert not sides(host_links(hostlink_load, node)).offending(lambda side: side.behind(peer_fraction))


@pytest.mark.check(component="pcie", severity="fatal", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_data_arrives_whole_between_host_and_gpus(hostlink_load, node):
    """What was sent between host and GPU arrived. A link that alters data unnoticed: reseat the GPU, then replace it."""
    assert not host_links(hostlink_load, node).offending(lambda link: link.wrong())
