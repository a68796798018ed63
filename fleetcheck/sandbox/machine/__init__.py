"""The base machines of the sandbox: what a healthy node of a profile shows in NVML, files, programs and kernel log."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from fleetcheck.profile import Profile
from fleetcheck.sandbox.machine import (
    configuration,
    kmsg,
    logs,
    network,
    nvml,
    pci,
    proc,
    processes,
    processors,
    rdma,
    storage,
)
from fleetcheck.sandbox.machine.base import Base, base
from fleetcheck.sandbox.machine.commands import commands
from fleetcheck.sandbox.machine.description import describe
from fleetcheck.sandbox.machine.entries import Files
from fleetcheck.sandbox.machine.identity import Identity
from fleetcheck.sandbox.machine.moment import moment
from fleetcheck.sandbox.machine.node import GpuSlot, Node, node
from fleetcheck.sandbox.nvml_rules import NvmlRule

__all__ = ["GpuSlot", "Machine", "describe", "machine"]


@dataclass
class Machine:
    """A healthy node.

    files: absolute path → text, ``{text, n}`` that grows, ``{link}`` or ``{folder}``; shared: those of them that all
    nodes of the profile have in common. statvfs: mount → names of os.statvfs. commands: program and words →
    ``{stdout, stderr, exit}``. kmsg: lines with their seconds since boot.
    """

    profile: Profile
    gpus: list[GpuSlot]
    nvml: list[NvmlRule]
    files: Files
    statvfs: dict[str, dict[str, int]]
    commands: dict[str, dict[str, Any]]
    kmsg: list[str]
    shared: Mapping[str, Any]


def machine(profile: Profile, name: str, number: int, now: float | None = None) -> Machine:
    """The healthy node of that name; number is its place in the fleet, from 1, and makes its serial numbers unique.

    now: the time it is looked at, for its boot time; the same arguments give the same machine.
    """
    common = base(profile)
    identity = Identity(name, number)
    one = node(common, identity, moment(identity, time.time() if now is None else now))
    alike = _shared(common)
    return Machine(
        profile=profile, gpus=list(one.slots), nvml=[*alike.nvml, *nvml.own(one)], files={**alike.files, **_own(one)},
        statvfs=storage.statvfs(common), commands=commands(one), kmsg=kmsg.lines(one), shared=alike.files,
    )


@dataclass(frozen=True, eq=False)
class _Shared:
    """What does not depend on the node; worked out once for a profile."""

    files: Files
    nvml: list[NvmlRule]


def _shared(common: Base) -> _Shared:
    return _shared_of(common.profile.model_dump_json())


@lru_cache(maxsize=16)
def _shared_of(text: str) -> _Shared:
    common = base(Profile.model_validate_json(text))
    files: Files = {**storage.mount_points(common)}
    for subject in (proc, processors, pci, configuration):
        files |= subject.shared(common)
    return _Shared(files, nvml.shared(common))


def _own(one: Node) -> Files:
    files = proc.own(one)
    for subject in (pci, network, rdma, storage, configuration, logs):
        files |= subject.own(one)
    return files | processes.processes(one) | processes.sockets(one)
