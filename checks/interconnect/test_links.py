"""The link between two nodes that are both well with others."""

import pytest


@pytest.mark.check(component="interconnect", severity="degraded", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle",
                   per="pair")
def test_no_trial_blames_the_link(link):
    """Two nodes that are well with others are well with each other. Look at what only their path uses: a port, a spine, a route."""
    assert not link.faults()
