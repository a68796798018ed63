"""What people and CI read of a judged run, made from the run's own files: junit.xml, terminal page."""
