"""fleetcheck.report."""
