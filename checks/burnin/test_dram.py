"""Patterns written to the host's memory and read back."""

import pytest

from fleetcheck.facts.load_device import noted
from fleetcheck.facts.load_limits import known


@pytest.fixture
def floor(profile, dram_load):
    """GB/s of all memory together."""
    noted(dram_load.devices, "dram_gb_s")
    return known(profile, "dram_gbytes_per_second")


@pytest.mark.check(component="dram", severity="fatal", action="replace", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_memory_keeps_every_pattern(dram_load):
    """Every pattern is read back from memory as it was written. Find the module: EDAC counters, then by halves; replace it."""
    assert not dram_load.devices.offending(lambda memory: memory.wrong())


@pytest.mark.check(component="dram", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_memory_is_fast_enough(dram_load, floor):
    """The memory together is as fast as its modules allow. Look at population, channel speed and NUMA settings."""
    assert not dram_load.devices.offending(lambda memory: memory.rate("dram_gb_s") not in floor)
