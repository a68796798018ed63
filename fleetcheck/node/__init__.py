"""Runs on the node: Python 3.6 syntax, standard library and pynvml only. The controller ships it, never imports it."""
