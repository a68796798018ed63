"""What rasdaemon and mcelog recorded, where a site runs them."""

import pytest

from fleetcheck.facts.ras import concern


@pytest.mark.check(component="dram", severity="warn", action="observe")
def test_error_daemons_recorded_nothing(ras):
    """No memory error or machine check since boot in the daemons' lists; their counters by DIMM may miss some. Watch the DIMM."""
    assert not ras.since_boot().offending(concern)
