"""Runs on the node: what it can be asked. One literal tuple; a name given twice is refused by the runner.

A collector is ``collect(host, settings) -> dict``; seconds is its own deadline, after which it is left behind.
"""

from fleetcheck.node.collectors import (
    bmc,
    clock,
    cpu,
    dimms,
    drives,
    filesystems,
    gpu,
    kernel_log,
    memory,
    modules,
    network,
    pci,
    rdma,
    system,
)

COLLECTORS = (
    ("system", system.collect, 15),
    ("kernel_log", kernel_log.collect, 45),
    ("cpu", cpu.collect, 15),
    ("memory", memory.collect, 15),
    ("filesystems", filesystems.collect, 15),
    ("network", network.collect, 15),
    ("rdma", rdma.collect, 15),
    ("time", clock.collect, 45),
    ("gpu", gpu.collect, 40),  # a driver's first start with persistence off takes tens of seconds
    ("pci", pci.collect, 15),
    ("drives", drives.collect, 90),
    ("bmc", bmc.collect, 115),  # a management controller lists its sensors in tens of seconds
    ("modules", modules.collect, 90),
    ("dimms", dimms.collect, 25),
)
