"""Bandwidth of the accelerators' own memory: copies within the device, reads and writes counted."""

import pytest

from fleetcheck.facts.load_device import behind_peers, drifting
from fleetcheck.facts.load_limits import known
from fleetcheck.facts.load_ready import real

pytestmark = pytest.mark.usefixtures("gpu_profile")
RATES = ("copy_gb_s",)


@pytest.fixture
def floor(profile):
    """GB/s that every accelerator's memory reaches."""
    return known(profile, "hbm_gbytes_per_second")


@pytest.fixture
def real_copied(hbm_load, node):
    """Accelerators to which floors apply."""
    return real(hbm_load, node)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpu_memory_is_fast_enough(real_copied, floor):
    """Every GPU's memory copies as fast as its model's does. Look at its memory clock and remapped rows; then replace it."""
    assert not real_copied.offending(lambda gpu: gpu.least("copy_gb_s") not in floor)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_gpu_memory_is_slower_than_its_peers(copied, peer_fraction):
    """No GPU's memory is far slower than that of the others. Look at its memory clock and ECC mode; then replace it."""
    assert not copied.offending(lambda gpu: behind_peers(gpu, copied, RATES, peer_fraction))


@pytest.mark.check(component="gpu-memory", severity="fatal", action="replace", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_copies_within_gpu_memory_are_right(hbm_load):
    """What was copied within a GPU's memory is what was there. Wrong data without an ECC error: replace the GPU."""
    assert not hbm_load.devices.offending(lambda gpu: gpu.wrong())


@pytest.mark.check(component="gpu-memory", severity="degraded", action="isolate", tiers=("burnin", "acceptance"), needs="idle")
def test_gpu_memory_does_not_slow_down(copied, drift_fraction):
    """Memory copies as fast in the last tenth of the load as in the first. One that sinks gets too hot: look at its cooling."""
    assert not copied.offending(lambda gpu: drifting(gpu, RATES, drift_fraction))
