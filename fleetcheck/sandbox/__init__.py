"""fleetcheck.sandbox."""
