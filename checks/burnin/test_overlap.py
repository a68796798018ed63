"""Multiplication and copies at once: each must leave the other its time."""

import pytest

from fleetcheck.facts.load_device import behind_peers
from fleetcheck.facts.load_limits import limit
from fleetcheck.facts.load_ready import accelerators, real

pytestmark = pytest.mark.usefixtures("gpu_profile")
RATES = ("overlap_fraction",)


@pytest.fixture
def least(profile):
    """How much of its rate alone each keeps."""
    return limit(profile, "overlap_fraction")


@pytest.fixture
def real_overlapping(overlap_load, node):
    """Accelerators to which floors apply."""
    return real(overlap_load, node)


@pytest.fixture
def overlapping(overlap_load, node):
    """The accelerators that multiplied and copied at once."""
    return accelerators(overlap_load, node)


@pytest.mark.check(component="gpu", severity="degraded", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_copies_and_matmul_overlap(real_overlapping, least):
    """A GPU copies while it multiplies, and neither waits for the other. Look at its copy engines, PCIe link and power."""
    assert not real_overlapping.offending(lambda gpu: gpu.rate("overlap_fraction") not in least)


@pytest.mark.check(component="gpu", severity="fatal", action="replace", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_results_beside_copies_are_right(overlap_load):
    """Products computed beside copies, and the copies, are what they should be. A GPU that errs only when busy: replace it."""
    assert not overlap_load.devices.offending(lambda gpu: gpu.wrong())


@pytest.mark.check(component="gpu", severity="degraded", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_gpu_overlaps_less_than_its_peers(overlapping, peer_fraction):
    """No GPU loses far more than the others when it copies and multiplies at once. Look at its copy engines and PCIe link."""
    assert not overlapping.offending(lambda gpu: behind_peers(gpu, overlapping, RATES, peer_fraction))
