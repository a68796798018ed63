"""Simulated nodes in namespaces of their own: real OpenSSH, a real link to a switch that can be slow, lossy, late or cut. Needs root."""
