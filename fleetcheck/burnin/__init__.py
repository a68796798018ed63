"""Loads from the controller's side: who is loaded when, for how long, by which claim, and what came of it."""
