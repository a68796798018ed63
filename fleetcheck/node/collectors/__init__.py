"""fleetcheck.node.collectors."""
