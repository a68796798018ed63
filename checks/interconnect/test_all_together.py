"""All nodes of a profile together: what single nodes and links do not explain."""

import pytest


@pytest.mark.check(component="interconnect", severity="degraded", action="fix-config", tiers=("full", "burnin", "acceptance"), needs="idle",
                   per="profile")
def test_no_switch_is_to_blame(whole):
    """No leaf, rack or rail fails as a whole. Look at the switch named, at its uplinks when only those are; its nodes are not at fault."""
    assert not whole.switches()


@pytest.mark.check(component="interconnect", severity="degraded", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle",
                   per="profile")
def test_no_other_link_is_to_blame(whole):
    """No link that was tried only on suspicion is at fault. Look at what only this path uses: a port, a spine, a route."""
    assert not whole.unplanned_links()


@pytest.mark.check(component="interconnect", severity="warn", action="fix-config", tiers=("full", "burnin", "acceptance"), needs="idle",
                   per="profile")
def test_every_failed_trial_is_explained(whole):
    """Trials that fail are explained by nodes, links or switches. Where all fail: configuration or fabric. Where few do: run it again."""
    assert not whole.undecided()


@pytest.mark.check(component="interconnect", severity="degraded", action="fix-config", tiers=("full", "burnin", "acceptance"), needs="idle",
                   per="profile")
def test_bandwidth_holds_with_more_nodes(whole, efficiency):
    """All-reduce among 4, 8, … and all nodes keeps the bandwidth of two. Look at routing, at SHARP and the fabric's oversubscription."""
    assert not whole.scaling(efficiency)


@pytest.mark.check(component="interconnect", severity="warn", action="fix-config", tiers=("full", "burnin", "acceptance"), needs="idle",
                   per="profile")
def test_bandwidth_grows_with_the_size_of_messages(whole, of_smaller_sizes):
    """Larger messages are no slower than smaller ones. A dip is a wrong choice of algorithm or protocol: look at NCCL's tuning."""
    assert not whole.dips(of_smaller_sizes)


@pytest.mark.check(component="interconnect", severity="warn", action="fix-config", tiers=("full", "burnin", "acceptance"), needs="idle",
                   per="profile")
def test_collectives_hide_behind_computation(whole, hidden):
    """All-reduce goes on while matrices are multiplied. Look at NCCL's channels and CTAs, CUDA_DEVICE_MAX_CONNECTIONS, PCIe topology."""
    assert not whole.overlap(hidden)
