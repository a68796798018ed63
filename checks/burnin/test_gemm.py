"""Matrix multiplication on all accelerators at once, in several dtypes, with random data."""

import pytest

from fleetcheck.facts.load_device import behind_peers, below, drifting, supported
from fleetcheck.facts.load_limits import known
from fleetcheck.facts.load_ready import real

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def real_matmul(gemm_load, node):
    """Accelerators to which floors apply."""
    return real(gemm_load, node)


@pytest.fixture
def floors(profile, real_matmul):
    """TFLOP/s that every accelerator reaches, by dtype that the node's torch can compute in."""
    return supported(known(profile, "tflops"), real_matmul)


@pytest.fixture
def rates(gemm_load):
    """The dtypes that were multiplied, as metrics."""
    return sorted({name for device in gemm_load.devices.present for name in device.metrics.named("tflops_")}) or ["tflops_bf16"]


@pytest.mark.check(component="gpu", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_matmul_reaches_its_floor(real_matmul, floors):
    """Every GPU multiplies as fast as its model does. Look at its power, clocks and heat under load; then replace it."""
    assert not real_matmul.offending(lambda gpu: below(gpu, floors, "tflops_"))


@pytest.mark.check(component="gpu", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_gpu_multiplies_slower_than_its_peers(matmul, rates, peer_fraction):
    """No GPU multiplies far slower than the others of its node. Look at its power, clocks and heat; then replace it."""
    assert not matmul.offending(lambda gpu: behind_peers(gpu, matmul, rates, peer_fraction))


@pytest.mark.check(component="gpu", severity="fatal", action="replace", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_matmul_results_are_right(gemm_load):
    """Every product is what it should be. A GPU that multiplies wrongly spoils a training run: replace it."""
    assert not gemm_load.devices.offending(lambda gpu: gpu.wrong())


@pytest.mark.check(component="gpu", severity="degraded", action="isolate", tiers=("burnin", "acceptance"), needs="idle")
def test_matmul_does_not_slow_down(matmul, rates, drift_fraction):
    """A GPU multiplies as fast in the last tenth of the load as in the first. One that sinks gets too hot: look at its cooling."""
    assert not matmul.offending(lambda gpu: drifting(gpu, rates, drift_fraction))
