"""What one node tells without load."""
