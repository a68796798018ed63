"""Runs on the node: ranks of a collective over several nodes. Shipped only to nodes that are asked for ranks; torch is imported inside."""
