"""The GPUs: all there, all alive, set up as the profile says, and free where nobody computes."""

import pytest

from fleetcheck.facts.applies import reporting, whole
from fleetcheck.facts.gpu import clocked_below_peers, named_twice
from fleetcheck.facts.gpu_limits import limit

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def recoverable_gpus(gpus):
    """GPUs whose driver tells what it asks for before they can be used again."""
    return reporting(gpus, "a recovery action", lambda gpu: gpu.modes.code("recovery_action"), since=570)


@pytest.fixture
def inforom_gpus(gpus):
    """GPUs with an InfoROM: consumer boards have none."""
    return reporting(gpus, "an InfoROM", lambda gpu: gpu.identity.inforom_code, optional=True)


@pytest.fixture
def mig_gpus(gpus):
    """GPUs that can be partitioned."""
    return reporting(gpus, "a MIG mode", lambda gpu: gpu.modes.code("mig_current"), optional=True)


@pytest.fixture
def clocked_gpus(gpus):
    """GPUs whose driver tells the clock that applications may have."""
    return reporting(gpus, "an application clock", lambda gpu: gpu.clocks.code("graphics_application_mhz"), optional=True)


@pytest.fixture
def accounting_gpus(gpus):
    """Whole GPUs whose driver tells used memory from its own reserve."""
    return reporting(whole(gpus), "memory used", lambda gpu: gpu.memory.code("used_bytes"))


@pytest.fixture
def idle_memory(profile):
    """What a GPU may hold while nobody computes."""
    return limit(profile, "idle_gpu_memory_bytes")


@pytest.mark.check(component="gpu", severity="fatal", action="reboot")
def test_all_gpus_visible(driver, gpu_profile):
    """NVML counts as many GPUs as the profile promises. Reboot; if one stays away, reseat or replace it."""
    assert driver.device_count in gpu_profile.count, f"NVML counts {driver.device_count} of {gpu_profile.count}"


@pytest.mark.check(component="gpu", severity="fatal", action="reboot")
def test_all_gpus_are_on_the_pci_bus(pci, gpu_profile):
    """The PCI bus shows as many GPUs as the profile promises. A missing one has no power or no link: reboot."""
    assert pci.gpu_count in gpu_profile.count, f"{pci.gpu_count} of {gpu_profile.count} on the PCI bus"


@pytest.mark.check(component="gpu", severity="fatal", action="reboot")
def test_no_gpu_has_fallen_off_the_bus(pci):
    """Every GPU answers on the PCI bus; one that reads as all ones (rev ff) does not. Reboot, then reseat it."""
    assert not pci.gpus.offending(lambda function: function.dead)


@pytest.mark.check(component="gpu", severity="degraded", action="reboot")
def test_every_gpu_has_a_device_node(driver):
    """There is a /dev/nvidiaN for each GPU NVML counts. Run nvidia-modprobe or nvidia-persistenced; else reboot."""
    assert driver.device_nodes == driver.device_count, (
        f"{driver.device_nodes} device nodes for {driver.device_count} GPUs in /dev")


@pytest.mark.check(component="gpu", severity="fatal", action="reboot")
def test_no_gpu_is_lost(gpu_handles):
    """No NVML call says that a GPU is lost. It fell off the bus: reboot; if it happens again, replace the GPU."""
    assert not gpu_handles.offending(lambda gpu: gpu.lost)


@pytest.mark.check(component="gpu", severity="fatal", action="reset-gpu")
def test_no_gpu_requires_a_reset(gpu_handles):
    """No NVML call says that a GPU must be reset. Drain the node, then nvidia-smi --gpu-reset."""
    assert not gpu_handles.offending(lambda gpu: gpu.returned("RESET_REQUIRED"))


@pytest.mark.check(component="gpu", severity="fatal", action="reset-gpu")
def test_no_recovery_action_is_pending(recoverable_gpus):
    """The driver asks for no recovery of any GPU. Do what it asks: reset, drain and reset, or reboot."""
    assert not recoverable_gpus.offending(lambda gpu: gpu.modes.recovery_action)


@pytest.mark.check(component="gpu", severity="degraded", action="replace")
def test_inforom_is_intact(inforom_gpus):
    """Every board's InfoROM passes its checksum. A corrupt one cannot be repaired: replace the board when idle.

    Degraded, not fatal: the GPU computes as before, but its counters of errors and remapped rows are no longer kept.
    """
    assert not inforom_gpus.offending(lambda gpu: gpu.inforom_corrupt)


@pytest.mark.check(component="gpu", severity="degraded", action="fix-config")
def test_compute_mode_is_as_promised(gpus, gpu_profile):
    """The compute mode is the profile's. An exclusive one fails jobs as if a GPU were broken: nvidia-smi -c 0."""
    assert not gpus.offending(lambda gpu: gpu.modes.compute not in gpu_profile.compute_mode)


@pytest.mark.check(component="gpu", severity="warn", action="fix-config")
def test_mig_mode_is_as_promised(mig_gpus, gpu_profile):
    """GPUs are partitioned, or whole, as the profile says, and stay so after the next reset. nvidia-smi -mig 0 or 1, when drained."""
    mode = gpu_profile.mig_mode
    assert not mig_gpus.offending(lambda gpu: gpu.modes.mig not in mode or gpu.modes.mig_pending not in mode)


@pytest.mark.check(component="gpu", severity="degraded", action="fix-config")
def test_no_gpu_is_clocked_below_its_peers(clocked_gpus):
    """Applications may have the same clock on every GPU of the node. A cap left behind slows every job: nvidia-smi -rac, -rgc."""
    assert not clocked_gpus.offending(lambda gpu: clocked_below_peers(clocked_gpus, gpu))


@pytest.mark.check(component="gpu", severity="degraded", action="reboot")
def test_no_two_gpus_have_the_same_name(gpus):
    """Every GPU has a UUID of its own, and a serial number of its own unless boards carry several. Jobs placed by UUID get the wrong
    one: reboot; if it stays, the InfoROM of one is wrong: replace it.
    """
    assert not gpus.offending(lambda gpu: named_twice(gpus, gpu))


@pytest.mark.check(component="gpu", severity="warn", action="fix-config")
def test_gpu_product_is_as_promised(gpus, gpu_profile):
    """Every GPU is of the profile's product. A wrong profile judges by wrong limits: give the node the right one."""
    assert not gpus.offending(lambda gpu: gpu.identity.name not in gpu_profile.product)


@pytest.mark.check(component="gpu", severity="degraded", action="fix-config", needs="idle")
def test_idle_gpus_hold_no_memory(accounting_gpus, idle_memory):
    """No memory is held on a GPU outside jobs. End the processes named; memory of none of them needs a GPU reset."""
    assert not accounting_gpus.offending(lambda gpu: gpu.processes.holding(gpu.memory.used_bytes, idle_memory))


@pytest.mark.check(component="gpu", severity="warn", action="observe")
def test_gpus_are_used_by_jobs_only(gpus):
    """Every process on a GPU belongs to a job or is root's own service. Ask its owner; end it before the next job."""
    assert not gpus.offending(lambda gpu: gpu.processes.outside_jobs())
