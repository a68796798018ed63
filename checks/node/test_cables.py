"""Cables and modules of the compute fabric and of the management interfaces, and the adapters they plug into."""

import pytest

from fleetcheck.facts.cables import modular, telling
from fleetcheck.facts.hardware_limits import choice, limit


@pytest.fixture
def warm_cables(cables):
    """Cables whose module has a thermometer; plain copper has none."""
    return telling(cables, lambda cable: not cable.module.copper, "a temperature")


@pytest.fixture
def optical_cables(cables):
    """Cables whose module measures light, on a node where any knows its own range."""
    telling(cables, lambda cable: cable.module.has_range("receive_dbm"), "a range for its light")
    return telling(cables, lambda cable: not cable.module.copper, "its light")


@pytest.fixture
def interface_modules(interfaces):
    """Interfaces with a module that tells of itself."""
    return modular(interfaces)


@pytest.mark.check(component="rdma", severity="degraded", action="isolate")
def test_port_firmware_sees_no_trouble(cables):
    """The adapter's firmware sees nothing wrong with its port, cable or module. Do what it recommends: reseat, clean, replace."""
    assert not cables.offending(lambda cable: cable.trouble)


@pytest.mark.check(component="rdma", severity="degraded", action="isolate")
def test_error_correction_leaves_no_errors(cables, profile):
    """Hardly a bit is wrong after error correction; before it, errors are a PAM4 link's normal life. Clean or replace the cable."""
    rate = limit(profile, "link_effective_error_rate")
    assert not cables.offending(lambda cable: cable.link.effective_error_rate not in rate)


@pytest.mark.check(component="rdma", severity="degraded", action="observe")
def test_modules_are_cool(warm_cables, profile):
    """No module is hotter than it should be, by the profile or by its own range. Check the air flow at the rear of the node."""
    celsius = limit(profile, "module_celsius")
    assert not warm_cables.offending(lambda cable: cable.module.outside("temperature_celsius", celsius))


@pytest.mark.check(component="rdma", severity="degraded", action="isolate")
def test_modules_receive_enough_light(optical_cables):
    """Every module receives light within its own range. Clean the connector; then replace fibre or the far end's module."""
    assert not optical_cables.offending(lambda cable: cable.module.outside("receive_dbm"))


@pytest.mark.check(component="rdma", severity="warn", action="observe")
def test_fabric_links_stay_up(cables, profile):
    """No link of the compute fabric comes and goes; training after a boot is left out. Watch it, then replace the cable."""
    losses = limit(profile, "link_losses_per_day")
    assert not cables.offending(lambda cable: cable.losses_per_day not in losses)


@pytest.mark.check(component="pcie", severity="degraded", action="reboot")
def test_adapter_slots_are_full_width(cables, profile):
    """Every RDMA adapter's PCIe link has all its lanes (63 is a dead link). Reboot, then reseat the adapter or its riser."""
    width = limit(profile, "hca_pcie_width")
    assert not cables.offending(lambda cable: cable.width not in width)


@pytest.mark.check(component="rdma", severity="warn", action="fix-config")
def test_adapters_run_released_firmware(cables, profile):
    """Every RDMA adapter runs a firmware the profile names. Update it with mlxfwmanager when the node is idle."""
    released = choice(profile, "hca_firmware")
    assert not cables.offending(lambda cable: cable.firmware not in released)


@pytest.mark.check(component="nic", severity="degraded", action="observe")
def test_interface_modules_raise_no_alarm(interface_modules):
    """No module of an Ethernet interface raises an alarm of heat, light or voltage. Clean or replace it."""
    assert not interface_modules.offending(lambda interface: interface.alarms)


@pytest.mark.check(component="nic", severity="warn", action="observe")
def test_interfaces_stay_up(interfaces, profile):
    """No interface's carrier comes and goes; training after a boot is left out. Look at its cable and switch port."""
    losses = limit(profile, "link_losses_per_day")
    assert not interfaces.offending(lambda interface: interface.losses_per_day not in losses)


@pytest.mark.check(component="nic", severity="warn", action="fix-config")
def test_interfaces_run_released_firmware(interfaces, profile):
    """Every Ethernet interface runs a firmware the profile names. Update it when the node is idle."""
    released = choice(profile, "interface_firmware")
    assert not interfaces.offending(lambda interface: interface.firmware not in released)
