"""Slurm's view of the node. An administrator's drain, a reservation or maintenance is no fault."""

import pytest

from fleetcheck.view import alone


@pytest.fixture
def slurm(scheduler, services, profile):
    """The scheduler's words on nodes where slurmd is installed, or whose profile says so."""
    if profile.scheduler is None and not services.unit("slurmd").is_installed:
        pytest.skip("slurmd is not installed here, and the profile names no scheduler")
    return scheduler


@pytest.mark.check(component="scheduler", severity="fatal", action="isolate")
def test_scheduler_sees_the_node_alive(slurm):
    """Slurm takes the node for neither down, dead, unable to end a job nor smaller than promised. Find out why before resuming it."""
    assert not alone(slurm).offending(lambda slurm: slurm.out_of_work)


@pytest.mark.check(component="scheduler", severity="degraded", action="observe")
def test_no_drain_is_unexplained(slurm):
    """No drain without a reason, reservation or reboot behind it: Slurm asks for a reason. Find out who drained it and why."""
    unexplained = slurm.unexplained_drain
    assert not unexplained, unexplained.text


@pytest.mark.check(component="scheduler", severity="degraded", action="isolate")
def test_no_prolog_or_epilog_failed(slurm):
    """Slurm drained the node for no failed prolog or epilog. On many nodes at once it is a user's script, not the nodes."""
    failed = slurm.failed_script
    assert not failed, failed.text


@pytest.mark.check(component="scheduler", severity="degraded", action="fix-config")
def test_scheduler_counts_all_gpus(slurm, gpu_profile):
    """Slurm has as many GPUs of the node on its books as the profile promises. Compare slurm.conf and gres.conf."""
    assert slurm.gpu_count in gpu_profile.count
