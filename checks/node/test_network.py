"""Ethernet interfaces of the profile: up, at speed, without damaged frames. Interfaces it does not name may be down."""

import pytest

from fleetcheck.facts.applies import promised
from fleetcheck.facts.defaults import limit


@pytest.fixture
def speed(links, profile):
    """What every link negotiates."""
    return promised(profile.links, "speed_mbits_per_second")


@pytest.fixture
def mtu(links, profile):
    """Bytes of the largest frame."""
    return promised(profile.links, "mtu_bytes")


@pytest.mark.check(component="nic", severity="fatal", action="isolate")
def test_links_are_up(links):
    """Every interface of the profile is there, up and has a carrier. Check cable, module and switch port."""
    assert not links.offending(lambda link: link.down)


@pytest.mark.check(component="nic", severity="degraded", action="isolate")
def test_bonds_have_all_their_members(bonds):
    """Every member of a bonded interface has its link: without one, bandwidth and redundancy are gone. Check its cable."""
    assert not bonds.offending(lambda member: member.down)


@pytest.mark.check(component="nic", severity="degraded", action="isolate")
def test_links_have_their_speed(links, speed):
    """Every link negotiated its speed; a link that is down has none and is not measured here. Replace the cable."""
    assert not links.offending(lambda link: link.speed_mbits_per_second not in speed)


@pytest.mark.check(component="nic", severity="degraded", action="fix-config")
def test_links_are_full_duplex(links):
    """No link fell back to half duplex: one end does not negotiate. Drivers without the notion say unknown."""
    assert not links.offending(lambda link: link.half_duplex)


@pytest.mark.check(component="nic", severity="degraded", action="fix-config")
def test_links_have_their_mtu(links, mtu):
    """Every link has the fabric's MTU; one that is smaller cuts or drops what its peers send."""
    assert not links.offending(lambda link: link.mtu_bytes not in mtu)


@pytest.mark.check(component="nic", severity="degraded", action="isolate")
def test_links_damage_no_frames(links, profile):
    """No frame arrives damaged within a second; totals since boot say nothing. Clean or replace cable and module."""
    bound = limit(profile, "link_errors_per_second")
    assert not links.offending(lambda link: link.damaged_per_second() not in bound)


@pytest.mark.check(component="nic", severity="degraded", action="isolate")
def test_links_have_no_physical_errors(links, profile):
    """No CRC or symbol error that FEC could not put right grows (ethtool -S). Corrected bits are a PAM4 link's normal life.

    Totals since boot are not judged, nor is one lane that corrects more than the others: it still corrects.
    """
    bound = limit(profile, "link_errors_per_second")
    assert not links.offending(lambda link: link.phy_errors_per_second() not in bound)


@pytest.mark.check(component="nic", severity="warn", action="fix-config")
def test_links_drop_few_frames(links, profile):
    """The machine fetches what arrives. Growing drops: enlarge the rings, spread the interrupts."""
    bound = limit(profile, "link_drops_per_second")
    assert not links.offending(lambda link: link.dropped_per_second() not in bound)
