"""What the management controller (BMC) knows and the operating system does not. Everything is read, nothing is cleared."""

import pytest

from fleetcheck.facts.hardware_limits import limit


@pytest.mark.check(component="monitoring", severity="degraded", action="isolate")
def test_event_log_has_no_hardware_errors(event_log):
    """The event log holds no uncorrectable, PCIe or machine check error, no hang and no panic since shortly before this boot."""
    assert not event_log.offending("hardware")


@pytest.mark.check(component="power", severity="degraded", action="replace")
def test_event_log_has_no_failed_supplies(event_log):
    """The event log holds no power supply that failed or lost its input and did not come back. Check its cord and feed first."""
    assert not event_log.offending("supply")


@pytest.mark.check(component="thermal", severity="degraded", action="isolate")
def test_event_log_has_no_standing_alarms(event_log):
    """No fan, temperature or voltage went beyond a critical threshold and stayed there. Replace the fan; check the cooling."""
    assert not event_log.offending("alarm")


@pytest.mark.check(component="dram", severity="warn", action="observe")
def test_event_log_has_no_correctable_errors(event_log):
    """The firmware logged no corrected error of memory or bus since shortly before this boot. Watch the part it names."""
    assert not event_log.offending("noted")


@pytest.mark.check(component="power", severity="degraded", action="replace")
def test_power_supplies_are_sound(bmc):
    """No power supply reports a failure or lost input. Replace it; lost redundancy by itself is noted."""
    assert not bmc.supplies.offending(lambda sensor: sensor.supply_trouble)


@pytest.mark.check(component="power", severity="degraded", action="replace")
def test_power_supplies_are_all_there(bmc, profile):
    """As many power supplies as the profile says are in their bays. Reseat or replace the missing one."""
    assert bmc.supply_count in limit(profile, "power_supplies")


@pytest.mark.check(component="thermal", severity="degraded", action="replace")
def test_fans_turn(bmc, profile):
    """Every fan turns. Replace it before the node throttles."""
    speed = limit(profile, "fan_rpm")
    assert not bmc.fans.offending(lambda fan: fan.value not in speed)


@pytest.mark.check(component="thermal", severity="degraded", action="observe")
def test_inlet_air_is_cool(bmc, profile):
    """The air that comes in is within the machine's range. One node: blanks and cables before it; a rack: the cooling."""
    celsius = limit(profile, "inlet_celsius")
    assert not bmc.inlet.offending(lambda sensor: sensor.value not in celsius)


@pytest.mark.check(component="thermal", severity="degraded", action="isolate")
def test_sensors_are_within_their_limits(bmc):
    """No temperature or voltage is beyond a critical threshold of the controller's own. Look at the part it names."""
    assert not bmc.others.offending(lambda sensor: sensor.critical)


@pytest.mark.check(component="power", severity="degraded", action="isolate")
def test_chassis_reports_no_fault(bmc):
    """The controller reports no fault of power, cooling or drives for the machine as a whole. Its event log says more."""
    faults = bmc.chassis.faults
    assert not faults, f"the chassis reports {', '.join(faults)}"


@pytest.mark.check(component="power", severity="warn", action="observe")
def test_node_draws_plausible_power(bmc, profile):
    """The node draws what such a node can draw, as its controller measures it. Outside: a wrong sensor, or a wrong budget."""
    assert bmc.watts in limit(profile, "node_watts")
