"""One node in its trials with others: it stops nobody, spoils no data, and is as fast as its peers."""

import pytest


@pytest.mark.check(component="interconnect", severity="fatal", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_collective_dies_of_this_node(tried):
    """No collective crashes because of this node. Read its ranks' last words in the evidence and its kernel log; do not schedule jobs."""
    assert not tried.stopped("crash")


@pytest.mark.check(component="interconnect", severity="fatal", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_collective_hangs_on_this_node(tried):
    """No collective waits in vain for this node. Look for a firewall, its fabric link and a hung GPU; do not schedule jobs."""
    assert not tried.stopped("timeout")


@pytest.mark.check(component="interconnect", severity="fatal", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_collective_data_of_this_node_is_right(tried):
    """Every element of every collective with this node is right. A node that spoils data ruins training unseen: take it out at once."""
    assert not tried.wrong()


@pytest.mark.check(component="interconnect", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_node_is_as_fast_with_others_as_its_peers(tried):
    """Bandwidth with this node reaches the profile's floors and its peers'. Look at its NICs' widths, cables and error counters."""
    assert not tried.slow("busbw_gb_s")


@pytest.mark.check(component="interconnect", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_node_answers_others_as_soon_as_its_peers(tried):
    """Small collectives with this node take no longer than with others. Look at its CPU frequency, interrupts, and cable errors."""
    assert not tried.slow("latency")


@pytest.mark.check(component="rdma", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_no_rail_of_the_node_is_slow(tried):
    """Every rail of the node is as fast as that of others. The HCA named is slow: look at its cable, its counters, its PCIe link."""
    assert not tried.slow_rails()
