"""Memory modules as the firmware lists them: all there, of the right size, at their speed."""

import pytest

from fleetcheck.facts.hardware_limits import limit


@pytest.mark.check(component="dram", severity="fatal", action="replace")
def test_dimms_are_all_there(dimms, profile):
    """As many DIMMs as the profile says. Fewer: the firmware mapped one out, or it lost contact. Reseat or replace it."""
    assert dimms.count in limit(profile, "dimms")


@pytest.mark.check(component="dram", severity="degraded", action="replace")
def test_dimms_have_their_size(dimms, profile):
    """Every DIMM has the size the profile says. A different one is a wrong spare part."""
    size = limit(profile, "dimm_bytes")
    assert not dimms.filled.offending(lambda dimm: dimm.bytes not in size)


@pytest.mark.check(component="dram", severity="warn", action="fix-config")
def test_dimms_run_at_their_speed(dimms, profile):
    """Every DIMM runs at its speed. Lower: a setting of the firmware, or one slow module that holds back the others."""
    speed = limit(profile, "dimm_mtransfers_per_second")
    assert not dimms.filled.offending(lambda dimm: dimm.mtransfers_per_second not in speed)
