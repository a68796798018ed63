"""Which loads a tier runs, for how long each, and what a node is told to start. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fleetcheck.nodes import Node
from fleetcheck.profile import Profile

LOADS = ("gemm", "hbm", "memtest", "hostlink", "peerlink", "sdc", "overlap", "cpu", "dram", "disk", "dcgm")
ABOUT = ("telemetry", "snapshots", "load")
"""Answers of a load that belong to no single one."""
FULL: Mapping[str, float] = {"gemm": 45, "hbm": 25, "memtest": 60, "hostlink": 20, "peerlink": 20, "sdc": 60, "overlap": 20,
                             "cpu": 25, "dram": 30, "disk": 25, "dcgm": 40}
LONG: Mapping[str, float] = {"gemm": 300, "hbm": 120, "memtest": 300, "hostlink": 60, "peerlink": 60, "sdc": 300, "overlap": 120,
                             "cpu": 120, "dram": 180, "disk": 120, "dcgm": 600}
TIMES: Mapping[str, Mapping[str, float]] = {"full": FULL, "burnin": LONG, "acceptance": LONG}
"""Seconds of each load, by tier. Tier quick has none: a run that names no tier must not load a fleet."""
CLOCKED = ("burnin", "acceptance")
"""Tiers that a duration makes longer."""
ROUND_OVERHEAD_SECONDS = 6.0
"""What a load needs beside its own time: its process starts, torch is imported, memory is filled."""
LEAST_LATE_SECONDS, LATE_PART = 60.0, 0.25
"""By how much a single round may be late: a cold import of torch takes a minute."""
LEAST_SECONDS = 2.0
"""Of each load; a round that would leave it less is not begun."""
SAMPLE_SECONDS = 1.0
WINDOW_SECONDS = 10.0
MOST_WINDOWS = 1500
SNAPSHOT = ("gpu", "kernel_log", "ras", "rdma", "network", "pci")


@dataclass(frozen=True)
class Slot:
    """One load of a round. seconds: its own; what it needs to start comes on top."""

    load: str
    seconds: float


@dataclass(frozen=True)
class Course:
    """What one node runs. seconds: how long that takes when all goes well; repeat: rounds follow each other until then.
    late: by how much the node may be late before it ends all by itself.
    """

    slots: tuple[Slot, ...]
    seconds: float
    repeat: bool = False
    late: float = 0.0

    @property
    def round_seconds(self) -> float:
        """How long one round takes."""
        return sum(slot.seconds + ROUND_OVERHEAD_SECONDS for slot in self.slots)


def chosen(tier: str, needed: Collection[str], allowed: Sequence[str]) -> tuple[str, ...]:
    """The loads to run: of the tier, of those the site allows, and of those some check asks for (none named: all)."""
    asked = set(needed) & set(LOADS) or set(LOADS)
    return tuple(name for name in TIMES[tier] if name in asked and name in (allowed or LOADS))


def course(tier: str, loads: Sequence[str], seconds: float | None = None) -> Course:
    """The course of a tier. seconds: how long it shall last, None for one round; a round too long for that is made shorter."""
    slots = tuple(Slot(name, TIMES[tier][name]) for name in loads)
    whole = Course(slots, math.ceil(Course(slots, 0).round_seconds))
    if seconds is None:
        return replace(whole, late=max(LEAST_LATE_SECONDS, LATE_PART * whole.seconds))
    if seconds >= whole.seconds:
        return Course(slots, seconds, repeat=tier in CLOCKED)
    overhead = ROUND_OVERHEAD_SECONDS * len(slots)
    part = max(0.0, seconds - overhead) / (whole.seconds - overhead)
    return Course(tuple(Slot(slot.load, round(slot.seconds * part, 1)) for slot in slots), seconds, repeat=tier in CLOCKED)


def least(loads: Sequence[str]) -> float:
    """Seconds below which a round measures nothing."""
    return len(loads) * (LEAST_SECONDS + ROUND_OVERHEAD_SECONDS)


def window(seconds: float) -> float:
    """Seconds of one window, so that a load has no more than MOST_WINDOWS of them.

    >>> window(4 * 3600), window(24 * 3600)
    (10.0, 60.0)
    """
    return WINDOW_SECONDS * max(1, math.ceil(seconds / MOST_WINDOWS / WINDOW_SECONDS))


def devices(node: Node, profile: Profile) -> int:
    """How many accelerators a node is expected to have."""
    told = (node.load or {}).get("devices")
    if told is not None:
        return int(told)
    bound = profile.gpu.count if profile.gpu else None
    return int(bound.low or bound.high or 0) if bound else 0


def start(run: str, node: Node, profile: Profile, plan: Course) -> dict[str, Any]:
    """The settings of load_start."""
    own = node.load or {}
    return {
        "id": run, "run": run, "node": node.name, "seconds": plan.seconds + plan.late, "repeat": plan.repeat,
        "schedule": [{"load": slot.load, "seconds": slot.seconds, "settings": dict((own.get("settings") or {}).get(slot.load) or {})}
                     for slot in plan.slots],
        "torch_python": node.torch_python or "", "prefix": list(own.get("prefix") or ()), "device": own.get("device") or "auto",
        "devices": devices(node, profile), "scratch": node.scratch or "",
        "sample_seconds": SAMPLE_SECONDS, "window_seconds": window(plan.seconds), "snapshot": list(SNAPSHOT),
    }
