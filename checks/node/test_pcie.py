"""PCIe: links of full width, without errors, and nothing between peers."""

import pytest

from fleetcheck.facts.applies import promised
from fleetcheck.facts.gpu_limits import limit

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def replay_rate(profile):
    """Replays a minute that a link may need."""
    return limit(profile, "pcie_replays_per_minute")


@pytest.fixture
def correctable_rate(profile):
    """Correctable AER errors a second that a link may show."""
    return limit(profile, "pcie_correctable_errors_per_second")


@pytest.fixture
def bare_metal_pci(pci):
    """The PCI bus of a machine of its own: a virtual one needs ACS for its isolation."""
    if pci.acs.virtual:
        pytest.skip("a virtual machine keeps ACS on")
    return pci


@pytest.fixture
def width(gpu_profile):
    """Lanes of a GPU's link."""
    return promised(gpu_profile, "pcie_width")


@pytest.mark.check(component="pcie", severity="degraded", action="reboot")
def test_gpu_links_are_full_width(gpus, width):
    """Every GPU's link has its full width, as NVML tells it; idle lowers the generation, never the width. Reboot."""
    assert not gpus.offending(lambda gpu: gpu.pcie.width not in width)


@pytest.mark.check(component="pcie", severity="degraded", action="reboot")
def test_gpu_slots_are_full_width(pci, width):
    """Every GPU's link has its full width, as the PCI bus tells it (63 lanes is a dead link). Reboot, then reseat."""
    assert not pci.gpus.offending(lambda function: function.current_width not in width)


@pytest.mark.check(component="pcie", severity="degraded", action="reboot")
def test_pcie_replays_do_not_grow(gpus, replay_rate):
    """Links hardly ever repeat a packet. Reboot; then reseat the board, clean its connector, replace the riser."""
    assert not gpus.offending(lambda gpu: gpu.growth.pcie_replays_per_minute not in replay_rate)


@pytest.mark.check(component="pcie", severity="degraded", action="reboot")
def test_no_uncorrectable_pcie_errors(pci):
    """Nothing counts an uncorrectable PCIe error since boot; unsupported requests while probing are none. Reboot."""
    assert not pci.reporting_errors.offending(lambda function: function.uncorrectable)


@pytest.mark.check(component="pcie", severity="degraded", action="fix-config")
def test_acs_is_off(bare_metal_pci):
    """No PCI bridge has ACS on: it sends GPU and NIC traffic through the root complex. Off in BIOS, or by setpci at boot."""
    enabled = bare_metal_pci.acs.enabled
    assert not enabled, f"ACS is on at {len(enabled)} of {bare_metal_pci.acs.told} devices: {', '.join(enabled[:4])}"


@pytest.mark.check(component="pcie", severity="warn", action="observe")
def test_correctable_pcie_errors_do_not_grow(pci, correctable_rate):
    """Correctable AER errors do not come by the second. Reseat the board at the next occasion."""
    assert not pci.reporting_errors.offending(lambda function: function.correctable_per_second not in correctable_rate)
