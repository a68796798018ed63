"""What a run's loads are settled to before anything starts: by the clock, by power, by claim. Runs on the controller."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fleetcheck.burnin import clock, schedule
from fleetcheck.burnin.admission import Admission, admission
from fleetcheck.burnin.power import draws
from fleetcheck.inventory import Inventory, InventoryError, Node, fold

PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "none": (), "slurm-job": ("sbatch", "squeue", "scancel"), "slurm-reservation": ("scontrol", "squeue"),
}
"""Claims, and what this machine needs for them."""


class LoadRefused(InventoryError):
    """Loads cannot start as asked; the text says what to change."""


@dataclass(frozen=True)
class Asked:
    """The command line's words: a tier, seconds for each node, an end, how many at once. None: not given."""

    tier: str
    duration: float | None = None
    until: datetime.datetime | None = None
    max_loaded: int | None = None


@dataclass(frozen=True)
class Terms:
    """What was settled. loads: by node; seconds: of each node's load, None for one round; waves: how many follow each other;
    unclaimed: nodes the inventory gives no claim for, so that they are not loaded.
    """

    asked: Asked
    loads: Mapping[str, tuple[str, ...]]
    seconds: float | None
    admission: Admission
    waves: tuple[tuple[str, ...], ...]
    unclaimed: tuple[str, ...] = ()

    def course(self, node: str, now: datetime.datetime) -> schedule.Course | None:
        """What a node runs that starts now; None when too little time is left for it."""
        loads, tier = self.loads[node], self.asked.tier
        whole = schedule.course(tier, loads, self.seconds)
        if self.asked.until is None:
            return whole
        left = (self.asked.until - now).total_seconds() - clock.MARGIN_SECONDS / 2
        if left < min(whole.seconds, schedule.least(loads)):
            return None
        return replace(whole, late=min(whole.late, left - whole.seconds)) if left >= whole.seconds else schedule.course(tier, loads, left)

    @property
    def node_seconds(self) -> float:
        """How long a node's load takes, of the longest."""
        return max((schedule.course(self.asked.tier, each, self.seconds).seconds for each in self.loads.values()), default=0.0)


def settle(asked: Asked, inventory: Inventory, wanted: Mapping[str, Collection[str]], now: datetime.datetime,
           which: Callable[[str], str | None] = shutil.which, resumed: bool = False) -> Terms:
    """The terms for these nodes. wanted: by node, what its checks ask of a load; resumed: some may have been loaded already, so
    that too little time is no reason to refuse. Raises LoadRefused or InventoryError.
    """
    if asked.tier not in schedule.TIMES:
        asks = ", ".join(sorted({load for loads in wanted.values() for load in loads} & {*schedule.LOADS, *schedule.ABOUT}))
        raise LoadRefused(f"--tier {asked.tier} loads no node, and a check asks for {asks}, which a load tells; its marker needs tiers=(…) "
                          f"without {asked.tier}, of {', '.join(schedule.TIMES)}")
    nodes = [node for node in inventory.nodes if node.name in wanted and node.claim]
    unclaimed = tuple(node.name for node in inventory.nodes if node.name in wanted and not node.claim)
    if not nodes:
        raise LoadRefused(f"{inventory.path}: {fold(unclaimed)}: no claim is given, and a load needs one; write claim: slurm-job or "
                          "claim: slurm-reservation under defaults, or claim: none where no scheduler hands out the nodes")
    for node in nodes:
        claimable(inventory, node, which)
    loads = {node.name: schedule.chosen(asked.tier, wanted[node.name], (node.load or {}).get("loads") or ()) for node in nodes}
    idle = next((name for name, chosen in loads.items() if not chosen), "")
    if idle:
        raise LoadRefused(f"{inventory.path}: {idle} has no load to run in tier {asked.tier}; choose another tier, or more of load: loads:")
    allowed = admission(draws(inventory, nodes), asked.max_loaded)
    waves = tuple(tuple(wave) for wave in allowed.waves(list(loads)))
    return Terms(asked, loads, _seconds(asked, loads, len(waves), now, resumed), allowed, waves, unclaimed)


def claimable(inventory: Inventory, node: Node, which: Callable[[str], str | None]) -> None:
    """Raises LoadRefused when this machine lacks a program that the node's claim needs."""
    programs = PROGRAMS[node.claim or "none"]
    missing = [program for program in programs if which(program) is None]
    if missing:
        raise LoadRefused(f"{inventory.path}: claim: {node.claim} of {node.name} needs {', '.join(programs)} on this machine, "
                          f"and {missing[0]} is not on PATH; start the run where Slurm's programs are")


def _seconds(asked: Asked, loads: Mapping[str, Sequence[str]], waves: int, now: datetime.datetime, resumed: bool) -> float | None:
    """Each node's seconds, as asked or less, so that every wave is over in time. Raises LoadRefused."""
    if asked.duration is not None and asked.tier not in schedule.CLOCKED:
        raise LoadRefused(f"--duration is for --tier {' and '.join(schedule.CLOCKED)}; {asked.tier} has a length of its own")
    if asked.tier == "burnin" and asked.duration is None and asked.until is None:
        raise LoadRefused("--tier burnin needs an end; give --duration 4h, --until 06:00, or both")
    left = None if asked.until is None else (asked.until - now).total_seconds()
    round_seconds = max((schedule.course(asked.tier, each).seconds for each in loads.values()), default=0.0)
    usual = asked.duration if asked.duration is not None else left if asked.tier == "burnin" and left is not None else round_seconds
    seconds = clock.share(usual, left, waves)
    least = max((schedule.least(each) for each in loads.values()), default=0.0)
    if seconds < least and resumed:
        return least
    if seconds < least:
        raise LoadRefused(_too_short(asked, left, waves, least))
    return None if asked.tier not in schedule.CLOCKED and seconds >= round_seconds else seconds


def _too_short(asked: Asked, left: float | None, waves: int, least: float) -> str:
    if left is None:
        return f"--duration {clock.words(asked.duration or 0)} is too short: one round of the loads takes {clock.words(least)} at least"
    return (f"{clock.words(max(0.0, left))} until {asked.until:%H:%M} are too short for {waves} wave{'s' if waves > 1 else ''} of "
            f"{clock.words(least + clock.MARGIN_SECONDS)} at least; start earlier, choose fewer nodes, or raise --max-loaded")
