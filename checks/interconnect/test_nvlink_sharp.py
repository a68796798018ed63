"""All-reduce within one node, with NVLink SHARP and without: what only its own NVLinks and NVSwitches explain."""

import pytest


@pytest.mark.check(component="nvlink", severity="degraded", action="isolate", tiers=("acceptance",), needs="idle")
def test_nvlinks_are_fast_without_nvlink_sharp(alone):
    """All-reduce within the node is fast with NVLink SHARP off, which hides a single slow link. Look at NVLink errors; reset the GPUs."""
    assert not alone.slow_without()


@pytest.mark.check(component="nvlink", severity="degraded", action="restart-service", tiers=("acceptance",), needs="idle")
def test_nvlink_sharp_speeds_all_reduce_up(alone, gain):
    """NVLink SHARP works and slows nothing down. Look at the fabric manager, its log and NVSwitch errors; restart it, then reboot."""
    assert not alone.no_gain(gain)
