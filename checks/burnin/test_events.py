"""What went wrong while loads ran: new errors with the GPU, the minute and the load. What was there before is none of this file's."""

import pytest

from fleetcheck.facts.load_limits import limit
from fleetcheck.facts.load_snapshots import AER, MEMORY
from fleetcheck.facts.load_telemetry import linked, sampled


@pytest.mark.check(component="gpu", severity="fatal", action="reset-gpu", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_xid_under_load(telemetry, gpu_profile):
    """No Xid or SXid comes under load. Do what the Xid asks for: reset, reboot, replace; the job's own (13, 31, 43) are noted."""
    assert not telemetry.events.of("xid")


@pytest.mark.check(component="gpu-memory", severity="fatal", action="reset-gpu", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_memory_error_under_load(telemetry):
    """No uncorrectable memory error of a GPU or of the host comes under load, no row remap. Reset the GPU; if it returns, replace it."""
    assert not telemetry.events.of("ecc")


@pytest.mark.check(component="pcie", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_pcie_error_under_load(telemetry):
    """No uncorrectable PCIe error comes under load. Reseat the card and look at its riser; then replace it."""
    assert not telemetry.events.of("aer", "pcie")


@pytest.mark.check(component="nvlink", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_nvlink_breaks_under_load(telemetry, gpu_profile):
    """No NVLink has to recover under load. Reset the GPU; if it returns, look at the baseboard and replace it."""
    assert not telemetry.events.of("nvlink")


@pytest.mark.check(component="os", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_other_kernel_fault_under_load(telemetry):
    """The kernel tells of nothing else that went wrong under load: no lack of memory, no hung task, no link that fell. Read the line."""
    assert not telemetry.events.others()


@pytest.mark.check(component="gpu-memory", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_corrected_memory_errors_do_not_storm_under_load(telemetry, gpu_profile, profile):
    """Under load, no GPU corrects memory errors all the time. A storm slows it and ends uncorrectable: replace the GPU."""
    rate = limit(profile, "load_corrected_errors_per_second")
    assert not sampled(telemetry, "ecc").offending(lambda gpu: gpu.storm("ecc", rate, "corrected"))


@pytest.mark.check(component="nvlink", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_nvlink_errors_do_not_grow_under_load(telemetry, gpu_profile, profile):
    """Under load, NVLink errors that had to be sent again are rare; corrected symbols are normal and not counted. Reset the GPU."""
    rate = limit(profile, "load_nvlink_errors_per_second")
    assert not linked(telemetry, gpu_profile).offending(lambda gpu: gpu.storm("nvlink_errors", rate))


@pytest.mark.check(component="pcie", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_pcie_replays_do_not_grow_under_load(telemetry, gpu_profile, profile):
    """Under load, PCIe links hardly ever repeat a packet. Reseat the board, clean its connector, replace the riser."""
    rate = limit(profile, "load_pcie_replays_per_minute")
    assert not sampled(telemetry, "pcie_replays").offending(lambda gpu: gpu.often("pcie_replays", rate))


@pytest.mark.check(component="gpu-memory", severity="fatal", action="reset-gpu", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpu_memory_is_sound_after_the_loads(load_snapshots, gpu_profile):
    """The loads left no uncorrectable error and no remapped row on any GPU. Reset it; if more come, replace it."""
    assert not load_snapshots.gpus.offending(lambda gpu: gpu.grown(MEMORY))


@pytest.mark.check(component="pcie", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_pcie_is_sound_after_the_loads(load_snapshots):
    """The loads left no uncorrectable PCIe error on any GPU, NIC or drive. Reseat the card named; then replace it."""
    assert not load_snapshots.functions.offending(lambda function: function.grown(AER))


@pytest.mark.check(component="os", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_kernel_log_is_clean_after_the_loads(load_snapshots):
    """The kernel log holds no new machine check, drive, link or driver fault after the loads. Act as the event says."""
    assert not load_snapshots.kernel_faults()
