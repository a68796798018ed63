"""What a node told, as typed views: one fixture a fact, each built from the answer of one collector. Runs on the controller."""
