"""Inventories made of what other tools know: Ansible's inventories, Slurm's configuration."""
