"""How the loads themselves ran: to their end, on every device, watched all the time, without a reboot."""

import pytest

from fleetcheck.facts.load_life import stood_in, uncovered
from fleetcheck.view import alone


@pytest.mark.check(component="os", severity="fatal", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_node_does_not_reboot_under_load(load_life):
    """The node is up from the first load to the last. One that reboots under load: read the boot before's log, then the BMC's."""
    assert not alone(load_life).offending(lambda life: life.rebooted())


@pytest.mark.check(component="os", severity="degraded", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_loads_run_to_their_end(load_life):
    """The loads end when they were to end. If their supervisor is gone, somebody or the kernel killed it: read the kernel log."""
    assert not alone(load_life).offending(lambda life: life.broke_off())


@pytest.mark.check(component="gpu", severity="fatal", action="reset-gpu", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_load_breaks_off(load_life):
    """No load dies on a device. A process that dies with its GPU: read the Xid beside it, reset the GPU, run it again."""
    assert not load_life.failures.offending(lambda broken: broken.concern)


@pytest.mark.check(component="gpu", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_load_process_dies(telemetry):
    """Every process of a load ends by itself. One that is killed was out of memory, or its device failed: read the event."""
    assert not telemetry.events.of("process")


@pytest.mark.check(component="os", severity="warn", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_loads_cover_every_device(load_life):
    """Every load ran on every device. A device that was left out was not tested, and its node is not certified."""
    assert not load_life.loads.offending(uncovered)


@pytest.mark.check(component="gpu", severity="warn", action="fix-config", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_loads_run_on_the_accelerators(gpu_profile, gemm_load, simulated):
    """The accelerators were loaded, not processors in their place; those only stand in on a simulated node. Remove load.device: cpu."""
    assert simulated or not alone(gemm_load).offending(stood_in)


@pytest.mark.check(component="os", severity="warn", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_loads_are_watched_all_the_time(telemetry):
    """Telemetry covers every load from begin to end. What was not sampled was not watched: look at the sampler's own events."""
    assert not alone(telemetry).offending(lambda sampled: sampled.unwatched())
