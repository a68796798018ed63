"""Heat, power, clocks and PCIe link of the accelerators while loads ran. What shows at idle is none of this file's."""

import pytest

from fleetcheck.facts.applies import promised
from fleetcheck.facts.load_limits import limit
from fleetcheck.facts.load_peers import clock_of_peers, power_of_limit
from fleetcheck.facts.load_telemetry import busy, sampled
from fleetcheck.facts.load_window import HW_SLOWDOWN, HW_THERMAL, POWER_BRAKE, SW_THERMAL

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def margin(gpu_profile):
    """Degrees a GPU must keep below its maximum operating temperature."""
    return promised(gpu_profile, "temperature_margin_celsius")


@pytest.fixture
def temperature(gpu_profile):
    """How hot a GPU may be."""
    return promised(gpu_profile, "temperature_celsius")


@pytest.fixture
def memory_temperature(gpu_profile):
    """How hot a GPU's memory may be."""
    return promised(gpu_profile, "memory_temperature_celsius")


@pytest.fixture
def generation(gpu_profile):
    """The PCIe generation of a busy GPU's link."""
    return promised(gpu_profile, "pcie_generation")


@pytest.fixture
def held(telemetry):
    """GPUs whose driver tells why clocks are held down."""
    return sampled(telemetry, "throttled_seconds")


@pytest.fixture
def busy_gpus(telemetry, node):
    """The GPUs that loads kept busy."""
    return busy(telemetry, node)


@pytest.mark.check(component="thermal", severity="fatal", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_hardware_never_slows_a_gpu_for_heat(held, profile):
    """Under load, no GPU's hardware holds its clocks down for heat. Check coolant, fans, inlet and the heat sink's seat."""
    share = limit(profile, "hardware_thermal_percent")
    assert not held.offending(lambda gpu: gpu.held_back(share, HW_THERMAL))


@pytest.mark.check(component="power", severity="fatal", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_hardware_never_slows_a_gpu_otherwise(held, profile):
    """Under load, hardware holds no GPU's clocks down without heat or power brake. Check its power connectors, then replace it."""
    share, explained = limit(profile, "hardware_slowdown_percent"), (HW_THERMAL, POWER_BRAKE)
    assert not held.offending(lambda gpu: gpu.held_back(share, HW_SLOWDOWN, explained))


@pytest.mark.check(component="thermal", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_driver_never_slows_a_gpu_for_heat(held, profile):
    """Under load, the driver holds no GPU's clocks down for heat. On a whole rack it is the cooling; on one node, its own."""
    share = limit(profile, "software_thermal_percent")
    assert not held.offending(lambda gpu: gpu.held_back(share, SW_THERMAL))


@pytest.mark.check(component="power", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_power_brake_under_load(held, profile):
    """Under load, no external power brake comes on. On a whole rack it is the facility; on one node, its supplies or cables."""
    share = limit(profile, "power_brake_percent")
    assert not held.offending(lambda gpu: gpu.held_back(share, POWER_BRAKE))


@pytest.mark.check(component="thermal", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpus_keep_their_margin_under_load(telemetry, margin):
    """Under load, every GPU stays below its maximum operating temperature. Check coolant, fans, inlet and the heat sink's seat."""
    assert not sampled(telemetry, "margin").offending(lambda gpu: gpu.out_of("margin", margin, "°C"))


@pytest.mark.check(component="thermal", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpus_are_cool_under_load(telemetry, temperature):
    """Under load, no GPU is above the profile's temperature. Check coolant, fans, inlet and the heat sink's seat."""
    assert not sampled(telemetry, "temperature").offending(lambda gpu: gpu.out_of("temperature", temperature, "°C"))


@pytest.mark.check(component="thermal", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpu_memory_is_cool_under_load(telemetry, memory_temperature):
    """Under load, no GPU's memory is above its limit; it throttles by itself. Check the coolant flow and the heat sink's seat."""
    assert not sampled(telemetry, "memory_temperature").offending(lambda gpu: gpu.out_of("memory_temperature", memory_temperature, "°C"))


@pytest.mark.check(component="gpu", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_clocks_hold_under_load(busy_gpus, profile):
    """While multiplying, no GPU's clock is far below the others'. It lacks power or cooling, or its clocks were locked."""
    fraction = limit(profile, "load_clock_fraction")
    assert not busy_gpus.offending(lambda gpu: clock_of_peers(gpu, busy_gpus) not in fraction)


@pytest.mark.check(component="power", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpus_draw_their_power_under_load(busy_gpus, profile, gpu_profile):
    """A GPU that multiplies at full utilisation draws most of its power limit. One far below has a bad supply, sensor or cap."""
    fraction, watts = limit(profile, "load_power_fraction"), gpu_profile.power_limit_watts
    assert not busy_gpus.offending(lambda gpu: power_of_limit(gpu, watts) not in fraction)


@pytest.mark.check(component="pcie", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_pcie_links_run_at_full_speed_under_load(busy_gpus, gpu_profile, generation):
    """A busy GPU's PCIe link has its full generation and width; an idle one may save power. Reseat the GPU; look at the riser."""
    assert not busy_gpus.offending(lambda gpu: gpu.trained_down(generation, gpu_profile.pcie_width))
