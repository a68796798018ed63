"""Several nodes at once: what their collective programs print, and what it says of whom. Runs on the controller."""
