"""Heat and power: temperatures and margins, what holds the clocks down, power limits and draw."""

import pytest

from fleetcheck.facts.applies import promised, reporting
from fleetcheck.facts.gpu import held_back_below_cap, hotter_than_peers
from fleetcheck.facts.gpu_limits import limit
from fleetcheck.facts.gpu_state import HW_SLOWDOWN, HW_THERMAL, POWER_BRAKE, SW_THERMAL

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def margin(gpu_profile):
    """Degrees a GPU must keep below its maximum operating temperature."""
    return promised(gpu_profile, "temperature_margin_celsius")


@pytest.fixture
def margin_gpus(gpus, margin):
    """GPUs whose driver tells the margin."""
    return reporting(gpus, "a temperature margin", lambda gpu: gpu.thermal.code("margin_celsius"), since=570)


@pytest.fixture
def memory_temperature(gpu_profile):
    """How hot HBM may be."""
    return promised(gpu_profile, "memory_temperature_celsius")


@pytest.fixture
def memory_sensor_gpus(gpus, memory_temperature):
    """GPUs with a sensor in their memory."""
    return reporting(gpus, "a memory temperature", lambda gpu: gpu.thermal.code("memory_celsius"), optional=True)


@pytest.fixture
def peer_difference(profile):
    """Degrees a GPU may be above the median of its node."""
    return limit(profile, "celsius_above_node_median")


@pytest.fixture
def cap_fraction(profile):
    """The share of its power cap that a GPU draws at least, while the cap holds it down."""
    return limit(profile, "power_cap_draw_fraction")


@pytest.fixture
def power_draw(profile):
    """What a working GPU can draw at all."""
    return limit(profile, "power_draw_watts")


@pytest.mark.check(component="thermal", severity="degraded", action="isolate")
def test_gpus_are_cool(gpus, gpu_profile):
    """No GPU is at its slowdown temperature or above the profile's. Check inlet, fans, coolant and the rack."""
    assert not gpus.offending(lambda gpu: gpu.too_hot(gpu_profile.temperature_celsius))


@pytest.mark.check(component="thermal", severity="degraded", action="isolate")
def test_gpus_keep_their_temperature_margin(margin_gpus, margin):
    """Every GPU stays below its maximum operating temperature. Check inlet, fans, coolant and the heat sink's seat."""
    assert not margin_gpus.offending(lambda gpu: gpu.margin_celsius not in margin)


@pytest.mark.check(component="thermal", severity="degraded", action="isolate")
def test_gpu_memory_is_cool(memory_sensor_gpus, memory_temperature):
    """No GPU's memory is above its limit. Check the coolant flow and the heat sink's seat."""
    assert not memory_sensor_gpus.offending(lambda gpu: gpu.thermal.memory_celsius not in memory_temperature)


@pytest.mark.check(component="thermal", severity="degraded", action="replace")
def test_no_gpu_is_hotter_than_its_peers(gpus, gpu_profile, peer_difference):
    """No GPU is far above the node's median while it draws no more. Reseat its heat sink, or replace the board."""
    allowed = gpu_profile.temperature_celsius
    assert not gpus.offending(lambda gpu: hotter_than_peers(gpus, gpu, allowed) not in peer_difference)


@pytest.mark.check(component="thermal", severity="degraded", action="isolate")
def test_no_hardware_thermal_slowdown(gpus):
    """Heat holds no GPU's clocks down in hardware, in each of several samples. Check the cooling."""
    assert not gpus.offending(lambda gpu: gpu.samples.slowed_by(HW_THERMAL, "hardware thermal slowdown"))


@pytest.mark.check(component="thermal", severity="degraded", action="isolate")
def test_no_hardware_slowdown(gpus):
    """Hardware holds no GPU's clocks down in each of several samples; one alone is a clock change. Check power."""
    assert not gpus.offending(lambda gpu: gpu.samples.slowed_by(HW_SLOWDOWN, "hardware slowdown"))


@pytest.mark.check(component="thermal", severity="degraded", action="isolate")
def test_no_software_thermal_slowdown(gpus):
    """The driver holds no GPU's clocks down for heat. On a whole rack it is the cooling; on one node, its own."""
    assert not gpus.offending(lambda gpu: gpu.samples.slowed_by(SW_THERMAL, "software thermal slowdown"))


@pytest.mark.check(component="power", severity="degraded", action="isolate")
def test_no_power_brake(gpus):
    """No external power brake is on. On a whole rack it is the facility; on one node, its supplies or cables."""
    assert not gpus.offending(lambda gpu: gpu.samples.slowed_by(POWER_BRAKE, "power brake"))


@pytest.mark.check(component="power", severity="degraded", action="isolate")
def test_power_cap_holds_no_gpu_below_it(gpus, cap_fraction):
    """A GPU held down by its power cap draws close to it. One held far below has a bad power sensor or supply."""
    assert not gpus.offending(lambda gpu: held_back_below_cap(gpu, cap_fraction))


@pytest.mark.check(component="power", severity="degraded", action="fix-config")
def test_power_limits_are_as_promised(gpus, gpu_profile):
    """Every GPU may draw what the profile says. A cap left behind slows every job: nvidia-smi -pl."""
    assert not gpus.offending(lambda gpu: gpu.power.limit_watts not in gpu_profile.power_limit_watts)


@pytest.mark.check(component="power", severity="fatal", action="replace")
def test_gpus_have_enough_power(gpu_handles):
    """No NVML call says that a GPU lacks external power. Check the cables, then replace the board."""
    assert not gpu_handles.offending(lambda gpu: gpu.returned("INSUFFICIENT_POWER"))


@pytest.mark.check(component="power", severity="warn", action="observe")
def test_power_draw_is_readable(gpus, power_draw):
    """Every GPU tells a draw that is possible. A reading that fails once passes by; one that keeps failing is noted."""
    assert not gpus.offending(lambda gpu: gpu.draw_trouble(power_draw))


@pytest.mark.check(component="power", severity="warn", action="observe")
def test_power_limits_are_readable(gpus):
    """Every GPU tells its enforced, set and default power limit. An unknown error in one is noted; no limit is assumed."""
    assert not gpus.offending(lambda gpu: gpu.limit_trouble())
