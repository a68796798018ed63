"""fleetcheck.isolation."""
