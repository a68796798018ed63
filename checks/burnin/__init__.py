"""What one node does under load."""
