"""A campaign: which trials a fleet goes through, one round after the other, and what they say together. Runs on the controller."""
