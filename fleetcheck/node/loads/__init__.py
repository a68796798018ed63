"""Runs on the node: what exercises it, one module a load. ``main`` runs one of them in a process of its own.

A load is ``run(task) -> RESULT`` in a module of its name. SCOPE: "device" for one process an accelerator, "node" for one over all;
TORCH = False for a load that needs no torch. docs/loads.md says what each measures, and what it does not prove.
"""

LOADS = ("gemm", "hbm", "memtest", "hostlink", "peerlink", "sdc", "overlap", "cpu", "dram", "disk", "dcgm")
