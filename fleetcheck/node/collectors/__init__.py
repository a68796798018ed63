"""Runs on the node: what it can be asked. One literal tuple; a name given twice is refused by the runner.

A collector is ``collect(host, settings) -> dict``; seconds is its own deadline, after which it is left behind.
"""

from fleetcheck.node.collectors import (
    bmc,
    clock,
    containers,
    cpu,
    dimms,
    drives,
    environment,
    fabric,
    filesystems,
    gpu,
    kernel_log,
    kernel_settings,
    load_end,
    load_poll,
    load_start,
    memory,
    modules,
    monitoring,
    network,
    packages,
    pci,
    rank_ready,
    rank_run,
    ras,
    rdma,
    reachability,
    scheduler,
    security,
    services,
    software,
    storage_probe,
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
    ("ras", ras.collect, 50),
    ("services", services.collect, 40),
    ("fabric", fabric.collect, 25),
    ("kernel_settings", kernel_settings.collect, 10),
    ("containers", containers.collect, 55),
    ("scheduler", scheduler.collect, 35),
    ("monitoring", monitoring.collect, 30),
    ("security", security.collect, 30),
    ("environment", environment.collect, 10),
    ("packages", packages.collect, 20),
    ("reachability", reachability.collect, 50),
    ("storage_probe", storage_probe.collect, 25),
    ("load_start", load_start.collect, 90),
    ("load_poll", load_poll.collect, 30),
    ("load_end", load_end.collect, 90),
    ("rank_ready", rank_ready.collect, 115),
    ("rank_run", rank_run.collect, 14400),  # a trial's own deadline is shorter
    ("software", software.collect, 115),  # a cold import of torch from a shared file system takes a minute
)
