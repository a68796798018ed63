"""Every fact a check may ask for: fixture name, the collector it comes from, and how its view is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fleetcheck.facts import (
    cables,
    cabling,
    clock,
    containers,
    cpu,
    dimms,
    driver,
    drives,
    environment,
    event_log,
    fabric,
    filesystems,
    gpu,
    gpu_life,
    kernel_log,
    kernel_settings,
    load_diagnostic,
    load_life,
    load_result,
    load_snapshots,
    load_telemetry,
    management,
    memory,
    monitoring,
    network,
    pci,
    ras,
    rdma,
    reachability,
    scheduler,
    security,
    services,
    software,
    storage_probe,
    system,
    trials,
)
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile

Build = Callable[[Mapping[str, Any], Profile, Node], Any]


PROBES: Mapping[str, float] = {"facts-fast": 60.0, "facts-slow": 180.0}
"""Deadline of each probe in seconds, on the node; a healthy node needs a few."""
PAIRS = "pairs"
"""The probe of all trials with other nodes: one campaign of the fleet, once single nodes are judged."""
LOAD = "load"
"""The probe of all loads of a node: minutes to hours, on a course of its own."""


@dataclass(frozen=True)
class Fact:
    """name: the fixture; collector: whose Answer.data build() receives; probe: the round trip that fetches it.

    timed: the data also says, under ``asked``, when the controller asked and how long the answer took.
    whole: build() receives every Answer of the probe by name instead, those that ended badly too.
    """

    name: str
    collector: str
    build: Build
    probe: str = "facts-fast"
    timed: bool = False
    whole: bool = False


FACTS: tuple[Fact, ...] = (
    Fact("driver", "gpu", driver.driver),
    Fact("gpus", "gpu", gpu.gpus),
    Fact("gpu_handles", "gpu", gpu_life.handles),
    Fact("pci", "pci", pci.pci),
    Fact("system", "system", system.build),
    Fact("kernel_log", "kernel_log", kernel_log.build),
    Fact("cpu", "cpu", cpu.build),
    Fact("memory", "memory", memory.build),
    Fact("filesystems", "filesystems", filesystems.build),
    Fact("links", "network", network.build),
    Fact("bonds", "network", network.build_bonds),
    Fact("hcas", "rdma", rdma.build),
    Fact("clock", "time", clock.build, timed=True),
    Fact("drives", "drives", drives.build, "facts-slow"),
    Fact("arrays", "drives", drives.build_arrays, "facts-slow"),
    Fact("bmc", "bmc", management.build, "facts-slow"),
    Fact("event_log", "bmc", event_log.build, "facts-slow"),
    Fact("cables", "modules", cables.build, "facts-slow"),
    Fact("interfaces", "modules", cables.build_interfaces, "facts-slow"),
    Fact("cabling", "neighbours", cabling.build, "facts-slow"),
    Fact("dimms", "dimms", dimms.build, "facts-slow"),
    Fact("ras", "ras", ras.build, "facts-slow"),
    Fact("services", "services", services.build),
    Fact("fabric", "fabric", fabric.build),
    Fact("kernel_settings", "kernel_settings", kernel_settings.build),
    Fact("containers", "containers", containers.build),
    Fact("scheduler", "scheduler", scheduler.build),
    Fact("exporters", "monitoring", monitoring.build),
    Fact("security", "security", security.build),
    Fact("login_environment", "environment", environment.build),
    Fact("repositories", "packages", software.build_repositories),
    Fact("reach", "reachability", reachability.build),
    Fact("scratch", "storage_probe", storage_probe.build),
    Fact("torch_environment", "software", software.build, "facts-slow"),
    Fact("gemm_load", "gemm", load_result.gpu_load("gemm"), LOAD, whole=True),
    Fact("hbm_load", "hbm", load_result.gpu_load("hbm"), LOAD, whole=True),
    Fact("memtest_load", "memtest", load_result.gpu_load("memtest"), LOAD, whole=True),
    Fact("hostlink_load", "hostlink", load_result.gpu_load("hostlink"), LOAD, whole=True),
    Fact("peerlink_load", "peerlink", load_result.gpu_load("peerlink"), LOAD, whole=True),
    Fact("sdc_load", "sdc", load_result.gpu_load("sdc"), LOAD, whole=True),
    Fact("overlap_load", "overlap", load_result.gpu_load("overlap"), LOAD, whole=True),
    Fact("cpu_load", "cpu", load_result.host_load("cpu"), LOAD, whole=True),
    Fact("dram_load", "dram", load_result.host_load("dram"), LOAD, whole=True),
    Fact("disk_load", "disk", load_result.host_load("disk"), LOAD, whole=True),
    Fact("dcgm_load", "dcgm", load_diagnostic.build, LOAD, whole=True),
    Fact("telemetry", "telemetry", load_telemetry.build, LOAD, whole=True),
    Fact("load_snapshots", "snapshots", load_snapshots.build, LOAD, whole=True),
    Fact("taking_part", "entry", trials.entry, PAIRS),
    Fact("load_life", "load", load_life.build, LOAD, whole=True),
)
