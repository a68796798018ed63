"""Loads the fleetcheck plugin, so that a checkout works without installing anything else."""

pytest_plugins = ["fleetcheck.plugin"]
