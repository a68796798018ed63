"""The clock: a source first, the offset second. An offset of zero without a source is no synchronisation."""

import pytest


@pytest.mark.check(component="time", severity="degraded", action="fix-config")
def test_clock_follows_a_source(clock):
    """The clock daemon follows a source, by leap status, reference, stratum and when it was last heard. Check its servers and the firewall.

    Where PTP keeps the clock: ptp4l follows a grandmaster, and phc2sys sets the system's clock by it. A daemon that does not answer is
    not measured: the clock may be right. One without a source is degraded, for the clock drifts.
    """
    why = clock.unsynchronised
    assert not why, f"the clock follows no source: {why}"


@pytest.mark.check(component="time", severity="degraded", action="fix-config")
def test_clock_offset_is_small(clock, profile):
    """The clock is within the profile's offset of its source, within PTP's where PTP keeps it. A node just booted may still be slewing."""
    assert clock.offset_seconds in clock.allowed_offset(profile.time.offset_seconds)


@pytest.mark.check(component="time", severity="degraded", action="fix-config")
def test_clock_agrees_with_the_controllers(clock, profile):
    """The node's clock lies within the profile's skew of the controller's; the time an answer takes is allowed for."""
    assert clock.skew_seconds in profile.time.skew_seconds


@pytest.mark.check(component="time", severity="warn", action="reboot")
def test_clock_is_quick_to_read(clock):
    """The kernel reads the time from the processor, not over a bus (hpet, acpi_pm). Reboot; if it stays, look at firmware and tsc=."""
    slow = clock.slow_source
    assert not slow, f"the clock source is {slow}: every look at the clock is slow"
