"""What trials went over, and what the machine said while they ran."""

import pytest

from fleetcheck.facts.trial_traces import errors, events, sockets


@pytest.mark.check(component="rdma", severity="degraded", action="fix-config", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_collectives_use_the_fabric(tried, profile):
    """NCCL goes over RDMA where the profile has HCAs, not over sockets. Look at the HCA list, the plugin and ulimit -l."""
    assert not sockets(tried, profile)


@pytest.mark.check(component="rdma", severity="degraded", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_links_count_no_errors_during_trials(tried):
    """No error counter of a link or HCA grows while the node works with others. Clean or replace the cable of the port named."""
    assert not errors(tried)


@pytest.mark.check(component="os", severity="degraded", action="observe", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_kernel_reports_nothing_during_trials(tried):
    """The kernel reports no fault of hardware while the node works with others. Do what the event asks for; the trial is named."""
    assert not events(tried)
