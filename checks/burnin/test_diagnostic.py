"""The vendor's own diagnostic, where it is installed."""

import pytest


@pytest.mark.check(component="gpu", severity="fatal", action="isolate", tiers=("burnin", "acceptance"), needs="idle")
def test_vendor_diagnostic_passes(dcgm_load):
    """dcgmi diag finds no fault of any GPU; skipped sub-tests are no pass. Do what its message asks, then run it again."""
    assert not dcgm_load.offending(lambda gpu: gpu.failed())
