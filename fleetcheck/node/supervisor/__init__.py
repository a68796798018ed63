"""Runs on the node: keeps a load going without the controller: schedule, telemetry, windows, events, results, an end."""
