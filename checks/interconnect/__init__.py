"""Checks of several nodes: their cables, and what passes between them."""
