"""fleetcheck: health checks and burn-in for GPU fleets, as ordinary pytest tests over SSH."""

__version__ = "0.1.0"
