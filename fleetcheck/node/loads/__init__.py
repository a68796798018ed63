"""fleetcheck.node.loads."""
