"""NVLink and the fabric: links up, at full speed, free of growing errors; every peer within reach."""

import pytest

from fleetcheck.facts.applies import promised, reporting
from fleetcheck.facts.gpu_limits import limit

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def nvlinks(gpu_profile):
    """How many links each GPU has; boards without NVLink promise none."""
    return promised(gpu_profile, "nvlinks")


@pytest.fixture
def link_speed(gpu_profile):
    """Speed of one link."""
    return promised(gpu_profile, "nvlink_mbytes_per_second")


@pytest.fixture
def error_rate(profile, nvlinks):
    """Errors a second that a healthy link may add."""
    return limit(profile, "nvlink_errors_per_second")


@pytest.fixture
def counting_gpus(gpus, nvlinks):
    """GPUs that count link errors by kind; later generations report bit error rates instead."""
    return reporting(gpus, "NVLink error counters", lambda gpu: gpu.growth.nvlink_code(), optional=True)


@pytest.fixture
def symbol_error_rate(profile, gpu_profile, nvlinks):
    """The exponent that a good link's symbol error rate reaches; Blackwell aggregates it over lanes."""
    generation = "_blackwell" if gpu_profile.architecture == "blackwell" else ""
    return limit(profile, "nvlink_symbol_ber_exponent" + generation)


@pytest.fixture
def measuring_gpus(gpus, nvlinks):
    """GPUs that measure symbol error rates."""
    return reporting(gpus, "a symbol error rate", lambda gpu: gpu.nvlink.code_of("symbol_ber_packed"), optional=True)


@pytest.fixture
def fabric_gpus(gpus, gpu_profile):
    """GPUs behind NVSwitches."""
    promised(gpu_profile, "fabric")
    return reporting(gpus, "a fabric state", lambda gpu: gpu.fabric.code("state"), since=535)


@pytest.fixture
def fabric_health_gpus(gpus, gpu_profile):
    """GPUs behind NVSwitches whose driver tells the fabric's health."""
    promised(gpu_profile, "fabric")
    return reporting(gpus, "a fabric health mask", lambda gpu: gpu.fabric.code("health_mask"), since=550)


@pytest.mark.check(component="nvlink", severity="fatal", action="reset-gpu")
def test_nvlinks_are_up(gpus, driver, nvlinks):
    """As many NVLinks are up as the profile promises; asleep is up. Reset all GPUs of the node."""
    assert not gpus.offending(lambda gpu: gpu.links_down(nvlinks, driver))


@pytest.mark.check(component="nvlink", severity="degraded", action="reset-gpu")
def test_nvlinks_run_at_full_speed(gpus, nvlinks, link_speed):
    """Every NVLink in use trained at full speed. Reset all GPUs of the node; if it stays, suspect board or switch."""
    assert not gpus.offending(lambda gpu: gpu.nvlink.slowest_mbytes_per_second(nvlinks) not in link_speed)


@pytest.mark.check(component="nvlink", severity="degraded", action="reset-gpu")
def test_nvlink_errors_do_not_grow(counting_gpus, error_rate):
    """CRC, replay and recovery counts of no link grow fast; slow growth is noted, totals say nothing. Reset all GPUs of the node."""
    assert not counting_gpus.offending(lambda gpu: gpu.growth.nvlink_trouble(error_rate))


@pytest.mark.check(component="nvlink", severity="degraded", action="observe")
def test_nvlink_symbol_error_rates_are_low(measuring_gpus, nvlinks, symbol_error_rate):
    """Every link's error rate is at the floor of its generation. Watch it; if it rises, suspect board or cable."""
    assert not measuring_gpus.offending(lambda gpu: gpu.nvlink.symbol_ber_exponent(nvlinks) not in symbol_error_rate)


@pytest.mark.check(component="fabric", severity="fatal", action="fix-config")
def test_gpus_are_registered_with_the_fabric(fabric_gpus, driver):
    """Every GPU is registered with the NVSwitch fabric. Start nvidia-fabricmanager; without it, CUDA error 802."""
    assert not fabric_gpus.offending(lambda gpu: gpu.fabric.unready(driver))


@pytest.mark.check(component="fabric", severity="fatal", action="reset-gpu")
def test_fabric_is_healthy(fabric_health_gpus):
    """The fabric's health mask names no trouble (a field that says "false" is not zero). Reset all GPUs of the node."""
    assert not fabric_health_gpus.offending(lambda gpu: gpu.fabric.ill())


@pytest.mark.check(component="nvlink", severity="fatal", action="reboot")
def test_gpus_reach_their_peers(gpus, nvlinks):
    """Every GPU can read every other one's memory directly. Reboot; then look at links, fabric and IOMMU settings."""
    assert not gpus.offending(lambda gpu: gpu.cut_off(gpus.present))
