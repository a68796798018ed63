"""The clock of an acceptance: hours under load since the last swap, reset or reboot of a node. Runs on the controller."""
