"""A planned node with every override laid over its base machine: what is to be realised. Pure."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetcheck.sandbox import busy, commands, kernel_log, neighbours
from fleetcheck.sandbox.description import Overrides, filesystems
from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.kernel_log import Boot
from fleetcheck.sandbox.layout import LIBRARY
from fleetcheck.sandbox.machine import GpuSlot, Machine, machine
from fleetcheck.sandbox.native import NvmlRule
from fleetcheck.sandbox.places import filled
from fleetcheck.sandbox.plan import Planned
from fleetcheck.sandbox.tree import Tree

OFF_SECONDS = 120.0
"""Between the end of the boot before and the start of this one."""
EARLIER_SECONDS = 3 * 86400.0
"""How long the boot before lasted, at least."""


@dataclass(frozen=True)
class Simulated:
    """programs: what they answer; borrowed: those of this machine, by name; removed: programs there shall be none of; absent: NVML calls
    not exported; has_nvml: whether there is an NVML at all; slots: the GPUs that are there.
    """

    name: str
    tree: Tree
    statvfs: Mapping[str, Mapping[str, Any]]
    programs: commands.Programs
    removed: frozenset[str]
    rules: Sequence[NvmlRule]
    slots: Sequence[GpuSlot]
    absent: frozenset[str]
    has_nvml: bool
    borrowed: Mapping[str, str]


def simulated(planned: Planned, now: float) -> Simulated:
    """The node as its description wants it."""
    base = machine(planned.profile, planned.node.name, planned.number, now)
    overrides = filled(planned.overrides, planned.profile, base.gpus)
    _there(overrides, [slot.index for slot in base.gpus])
    missing = {one.gpu for one in overrides.nvml if one.missing}
    tree = _tree(base, overrides, missing, planned.busy)
    boots = _boots(tree, base, overrides, now)
    tree.lay({"/dev/kmsg": overrides.files.get("/dev/kmsg", kernel_log.kmsg(boots[0].records))})
    return Simulated(
        name=planned.node.name, tree=tree, statvfs=filesystems(base.statvfs, overrides.statvfs),
        programs=_programs(base, overrides, boots, planned, tree),
        removed=frozenset(name for name, answer in overrides.commands.items() if answer is None),
        rules=[*base.nvml, *(one.rule() for one in overrides.nvml if not one.missing and not one.absent)],
        slots=[slot for slot in base.gpus if slot.index not in missing],
        absent=frozenset(one.call for one in overrides.nvml if one.absent),
        borrowed=_borrowed(planned),
        has_nvml=not any(content is None and path.endswith(f"/{LIBRARY}") for path, content in overrides.files.items()),
    )


def _there(overrides: Overrides, numbers: Sequence[int]) -> None:
    """Refuse what speaks of a GPU that the machine does not have: it would change nothing, and nobody would notice."""
    for one in overrides.nvml:
        if one.gpu is not None and one.gpu not in numbers:
            has = f"GPUs {numbers[0]} to {numbers[-1]}" if numbers else "no GPU"
            raise SandboxError(f"nvml names GPU {one.gpu}; this machine has {has}")


def _tree(base: Machine, overrides: Overrides, missing: Collection[int | None], job: str) -> Tree:
    """The files of the base machine with all that is laid over them, but for the kernel log."""
    tree = Tree(base.files)
    for slot in base.gpus:
        if slot.index in missing:
            _unplug(tree, slot)
    tree.lay(busy.processes(job))
    tree.lay({path: content for path, content in overrides.files.items() if path != "/dev/kmsg"})
    return tree


def _programs(base: Machine, overrides: Overrides, boots: Sequence[Boot], planned: Planned, tree: Tree) -> commands.Programs:
    """What programs answer: an idle Slurm, the base machine, its log, its job; the description before them all."""
    name, job = planned.node.name, planned.busy
    answers = busy.squeue("", name) | base.commands | commands.logs(boots, name)
    answers |= {program: said for program, said in neighbours.answers({**planned.node.cables, **planned.cables}, tree).items()
                if program.partition(" ")[0] not in _borrowed(planned)}
    if job:
        answers |= busy.squeue(job, name)
    described = {key: None if of is None else of.model_dump() for key, of in overrides.commands.items()}
    return commands.programs(answers, described)


def _borrowed(planned: Planned) -> Mapping[str, str]:
    """Programs that are this machine's own, by name: where the link is real, so is who tells of it."""
    return {"lldpctl": "/usr/sbin/lldpctl"} if planned.link is not None and planned.link.lldp else {}


def _unplug(tree: Tree, slot: GpuSlot) -> None:
    """Take a GPU off the bus: its PCI device, the driver's entry and its device node."""
    tree.remove(f"/sys/bus/pci/devices/{slot.bus_id}")
    tree.remove(f"/proc/driver/nvidia/gpus/{slot.bus_id}")
    tree.remove(f"/dev/nvidia{slot.minor}")


def _boots(tree: Tree, base: Machine, overrides: Overrides, now: float) -> list[Boot]:
    """This boot, and the one before it where the description tells of one."""
    uptime = _uptime(tree)
    boot_id = _boot_id(tree)
    boots = [Boot(0, boot_id, now - uptime, kernel_log.records([*base.kmsg, *overrides.kmsg], uptime))]
    if overrides.previous_boot:
        timed = kernel_log.records(overrides.previous_boot, EARLIER_SECONDS)
        lasted = max(EARLIER_SECONDS, timed[-1].seconds + 60)
        log = kernel_log.records(overrides.previous_boot, lasted)
        boots.append(Boot(-1, str(uuid.uuid5(uuid.UUID(boot_id), "before")), now - uptime - OFF_SECONDS - lasted, log))
    return boots


def _uptime(tree: Tree) -> float:
    """Seconds since boot as /proc/uptime will tell them at the start; a week where it tells nothing."""
    content = tree.files.get("/proc/uptime")
    if isinstance(content, Mapping) and "text" in content:
        starts = {name: int(value["start"]) for name, value in content.items() if name != "text"}
        content = str(content["text"])
        for name, start in starts.items():
            content = content.replace(f"{{{name}}}", str(start))
    try:
        return float(str(content).split()[0])
    except (ValueError, IndexError):
        return 7 * 86400.0


def _boot_id(tree: Tree) -> str:
    """The node's boot id; one of zeros where its file tells none."""
    try:
        return str(uuid.UUID(str(tree.files.get("/proc/sys/kernel/random/boot_id")).strip()))
    except ValueError:
        return str(uuid.UUID(int=0))
