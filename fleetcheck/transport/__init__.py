"""fleetcheck.transport."""
