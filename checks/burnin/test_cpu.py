"""All processors at once, with results that are known."""

import pytest

from fleetcheck.facts.load_device import below, drifting, undisturbed
from fleetcheck.facts.load_limits import known, limit

RATES = ("rounds_s",)


@pytest.fixture
def floor(profile):
    """Rounds a second of all processors together, as fleetcheck's own load counts them."""
    return known(profile, "cpu_rounds_per_second")


@pytest.fixture
def drift_fraction(profile):
    """How much of its first tenth the load must reach in its last."""
    return limit(profile, "load_drift_fraction")


@pytest.fixture
def share(profile):
    """How much of the processors' time the load must have had, for its speed to tell of them."""
    return limit(profile, "load_processor_share")


@pytest.mark.check(component="cpu", severity="fatal", action="replace", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_processors_compute_rightly(cpu_load):
    """Every core computes what it should. One that does not spoils data unnoticed: replace the processor named."""
    assert not cpu_load.devices.offending(lambda cpu: cpu.wrong())


@pytest.mark.check(component="cpu", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_processors_are_fast_enough(cpu_load, floor, share):
    """The processors together compute as fast as their model does. Look at governor, power profile and cooling."""
    assert not cpu_load.devices.offending(lambda cpu: undisturbed(cpu, below(cpu, {"rounds_s": floor}, ""), share))


@pytest.mark.check(component="cpu", severity="degraded", action="isolate", tiers=("burnin", "acceptance"), needs="idle")
def test_processors_do_not_slow_down(cpu_load, drift_fraction, share):
    """The processors are as fast in the last tenth of the load as in the first. If they sink, look at their cooling."""
    assert not cpu_load.devices.offending(lambda cpu: undisturbed(cpu, drifting(cpu, RATES, drift_fraction), share))
