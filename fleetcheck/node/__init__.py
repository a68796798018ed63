"""fleetcheck.node."""
