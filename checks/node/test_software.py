"""The NVIDIA driver, its library and the firmware that comes with them."""

import pytest

from fleetcheck.facts.bundles import allowed, released_drivers
from fleetcheck.view import alone

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def drivers(profile):
    """The driver versions allowed today."""
    return allowed(profile, "driver")


@pytest.fixture
def cuda_versions(profile, driver):
    """The CUDA versions that belong to this driver."""
    return allowed(profile, "cuda_driver", driver.version)


@pytest.fixture
def vbios_versions(profile):
    """The VBIOS versions allowed today: board revisions of one product ship several."""
    return allowed(profile, "vbios")


@pytest.fixture
def gsp_versions(profile, driver):
    """The GSP firmware that belongs to this driver."""
    return allowed(profile, "gsp_firmware", driver.version)


@pytest.mark.check(component="driver", severity="fatal", action="fix-config")
def test_driver_is_loaded(driver):
    """The nvidia kernel module is loaded. Load it (modprobe nvidia) and read dmesg for why it was not."""
    assert driver.is_loaded, f"NVML returned {driver.init_code}: the nvidia kernel module is not loaded"


@pytest.mark.check(component="driver", severity="fatal", action="fix-config")
def test_nvml_library_is_installed(driver):
    """libnvidia-ml.so.1 is installed. Install the driver's user-space part, of the kernel module's version."""
    assert driver.library_is_found, f"NVML returned {driver.init_code}: libnvidia-ml.so.1 is not installed"


@pytest.mark.check(component="driver", severity="degraded", action="reboot")
def test_driver_and_library_versions_agree(driver, system, profile):
    """Kernel module and library are of one version. Running jobs go on, new ones cannot start: drain, reboot when they ended."""
    jobs, released = system.busy, released_drivers(profile)
    assert not alone(driver).offending(lambda driver: driver.drifted(jobs, released))


@pytest.mark.check(component="driver", severity="fatal", action="reboot")
def test_driver_answers(driver):
    """NVML starts. A failed start with the driver present is a broken GPU or driver: reboot, read the kernel log."""
    assert driver.answers, f"NVML returned {driver.init_code} at its start"


@pytest.mark.check(component="driver", severity="fatal", action="reboot")
def test_driver_calls_return(driver):
    """No NVML call hangs. One stuck in the kernel holds every later one: reboot; repeated on a GPU, replace it."""
    assert driver.hung_call == "", f"no return from {driver.hung_call}"


@pytest.mark.check(component="software", severity="warn", action="fix-config")
def test_driver_version_is_allowed(driver, drivers):
    """The driver is of a bundle that holds today. Install the current bundle when the node is drained."""
    assert driver.version in drivers


@pytest.mark.check(component="software", severity="warn", action="fix-config")
def test_cuda_driver_version_is_allowed(driver, cuda_versions):
    """The driver's CUDA version is the one of its bundle. Remove forward-compatibility libraries left on the node."""
    assert driver.cuda_version in cuda_versions


@pytest.mark.check(component="software", severity="warn", action="fix-config")
def test_vbios_versions_are_allowed(gpus, vbios_versions):
    """Every board carries a VBIOS of the profile's set. Update its firmware, or add its version to the bundle."""
    assert not gpus.offending(lambda gpu: gpu.identity.vbios not in vbios_versions)


@pytest.mark.check(component="software", severity="warn", action="fix-config")
def test_gsp_firmware_is_allowed(gpus, gsp_versions):
    """Every GPU runs the GSP firmware of its driver. Reload the driver; remove leftover firmware packages."""
    assert not gpus.offending(lambda gpu: gpu.identity.gsp_firmware not in gsp_versions)


@pytest.mark.check(component="driver", severity="warn", action="fix-config")
def test_persistence_mode_is_as_promised(gpus, gpu_profile):
    """Persistence mode is as the profile says. Enable nvidia-persistenced; else each job pays the GPU's start."""
    assert not gpus.offending(lambda gpu: gpu.modes.persistence not in gpu_profile.persistence_mode)
