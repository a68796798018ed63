"""Patterns written to nearly all memory of every accelerator and read back: moving inversions, walking ones, addresses, random."""

import pytest

from fleetcheck.facts.load_limits import limit

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def tested_fraction(profile):
    """How much of the free memory must have been tested."""
    return limit(profile, "tested_memory_fraction")


@pytest.mark.check(component="gpu-memory", severity="fatal", action="replace", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpu_memory_keeps_every_pattern(memtest_load):
    """Every pattern is read back as it was written. Memory that forgets without an ECC error is worthless: replace the GPU."""
    assert not memtest_load.devices.offending(lambda gpu: gpu.wrong())


@pytest.mark.check(component="gpu-memory", severity="degraded", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_nearly_all_gpu_memory_was_tested(memtest_load, tested_fraction):
    """At least nine tenths of each GPU's free memory held every pattern. Less: something held memory, or the time was short."""
    assert not memtest_load.devices.offending(lambda gpu: gpu.rate("tested_fraction") not in tested_fraction)
