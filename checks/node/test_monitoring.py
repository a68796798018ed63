"""The node's exporters: up, fresh, complete. A dead one makes the node unknown to monitoring, not faulty."""

import pytest

from fleetcheck.facts.monitoring import stale


@pytest.mark.check(component="monitoring", severity="warn", action="fix-config")
def test_exporters_answer(exporters, services):
    """Every exporter answers with samples, and its service is active. Restart it."""
    assert not exporters.expected(services).offending(lambda exporter: exporter.silent or exporters.stopped(exporter, services))


@pytest.mark.check(component="monitoring", severity="warn", action="fix-config")
def test_exporters_are_fresh(exporters, services, profile):
    """The newest sample is younger than two intervals, where samples carry a time. Restart what is stuck."""
    assert not exporters.timed(services).offending(stale(profile))


@pytest.mark.check(component="monitoring", severity="warn", action="fix-config")
def test_exporters_see_all_gpus(exporters, services, gpu_profile):
    """Exporters of GPUs tell of as many as the profile promises. Restart them; a lost GPU fails checks of its own."""
    assert not exporters.of_gpus(services).offending(lambda exporter: exporter.answers and len(exporter.gpus) not in gpu_profile.count)


@pytest.mark.check(component="monitoring", severity="warn", action="observe")
def test_xid_gauges_are_clear(exporters, services):
    """No exporter shows an Xid. The gauge keeps the last one until the driver is loaded again: the kernel log decides."""
    assert not exporters.gauges(services).offending(lambda gauge: gauge.xid)
