"""Silent data corruption: results of fixed seeds, bit by bit, of repeats, accelerators and nodes. A pass is no proof: what is known of
such tests finds a quarter to seven tenths of the bad parts."""

import pytest

from fleetcheck.facts.load_sums import odd_nodes, odd_ones


@pytest.mark.check(component="gpu", severity="fatal", action="replace", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpus_repeat_their_results(gpu_profile, sdc_load):
    """Each GPU computes the same bits from the same numbers every time. One that does not computes wrongly at times: replace it."""
    assert not sdc_load.devices.offending(lambda gpu: gpu.wrong())


@pytest.mark.check(component="gpu", severity="fatal", action="replace", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_gpus_agree_with_each_other(gpu_profile, sdc_load):
    """All GPUs of a node compute the same bits from the same numbers. Replace the odd one; where two differ, try both elsewhere."""
    assert not odd_ones(sdc_load)


@pytest.mark.check(component="gpu", severity="degraded", action="isolate", per="profile",
                   tiers=("full", "burnin", "acceptance"), needs="idle")
def test_nodes_agree_with_each_other(group, sdc_load_by_node):
    """All nodes of one kind and software compute the same bits from the same numbers. The odd one: test its GPUs one by one."""
    assert not odd_nodes(sdc_load_by_node)
