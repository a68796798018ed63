"""The operating system: released versions, no stuck processes, modules and environment as configured."""

import pytest

from fleetcheck.facts.bundles import allowed
from fleetcheck.facts.defaults import limit


@pytest.mark.check(component="os", severity="warn", action="observe")
def test_node_has_been_up_for_a_while(system, profile):
    """The node did not boot minutes ago. Healthy after maintenance; if nobody rebooted it, find out why it did."""
    assert system.uptime_seconds in limit(profile, "uptime_seconds")


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_kernel_is_released(system, profile):
    """The running kernel is one of a current bundle; during a rolling upgrade both are. Update and reboot."""
    assert system.kernel in allowed(profile, "kernel")


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_os_image_is_released(system, profile):
    """The operating system is one of a current bundle. Reinstall the node from its image."""
    assert system.os_image in allowed(profile, "os_image")


@pytest.mark.check(component="os", severity="degraded", action="fix-config")
def test_architecture_is_the_profiles(system, profile):
    """The machine is of the profile's architecture; otherwise the inventory gives it the wrong profile."""
    assert system.architecture == profile.architecture, f"the machine is {system.architecture}"


@pytest.mark.check(component="os", severity="degraded", action="reboot")
def test_no_process_is_stuck(system, profile):
    """No old process stays in uninterruptible sleep over two looks; waiting for a disk for a moment is normal. Reboot."""
    bound = limit(profile, "stuck_process_seconds")
    assert not system.stuck().offending(lambda process: process.age_seconds not in bound)


@pytest.mark.check(component="os", severity="warn", action="fix-config")
def test_no_zombies_linger(system, profile):
    """No process stays a zombie; a short-lived one is normal. Restart its parent."""
    bound = limit(profile, "zombie_seconds")
    assert not system.zombies().offending(lambda process: process.age_seconds not in bound)


@pytest.mark.check(component="os", severity="warn", action="observe")
def test_file_handles_are_left(system, profile):
    """The machine is far from its limit of open files."""
    assert system.file_handles.percent in limit(profile, "file_handles_percent")


@pytest.fixture
def gpu_modules(system, gpu_profile):
    """Loaded kernel modules of a host that has GPUs."""
    return system.modules


@pytest.mark.check(component="driver", severity="degraded", action="fix-config")
def test_nouveau_is_not_loaded(gpu_modules):
    """The nouveau driver is not loaded: it takes GPUs away from nvidia. Deny it and rebuild the initramfs."""
    assert "nouveau" not in gpu_modules, "nouveau is loaded"


@pytest.mark.check(component="driver", severity="degraded", action="fix-config")
def test_required_modules_are_loaded(system):
    """The kernel modules the profile requires are loaded (nvidia_peermem for GPUDirect RDMA, unless dma-buf serves)."""
    missing = system.missing_modules
    assert not missing, f"not loaded: {', '.join(missing)}"


@pytest.mark.check(component="software-baseline", severity="warn", action="fix-config")
def test_login_environment_hides_no_gpus(system):
    """No login file sets CUDA_VISIBLE_DEVICES and its like for everybody: every job would inherit it."""
    variables = system.gpu_variables
    assert not variables, f"set for every login: {', '.join(variables)}"
