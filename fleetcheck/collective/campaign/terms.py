"""What a run's campaign is settled to before anything starts: who may be tried with whom, and how thoroughly. Runs on the controller."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from fleetcheck.burnin.terms import LoadRefused, claimable
from fleetcheck.inventory import Inventory, Node, fold
from fleetcheck.profile import Profile
from fleetcheck.settings import ACCEPTANCE

MODES = ("quick", "full")
TIERS = ("full", "burnin", "acceptance")
"""Whose checks need trials."""
ROUND_SECONDS = 60.0
"""What a round takes, roughly: its ranks start, meet and measure."""
MARGIN_SECONDS = 120.0
"""No round begins so shortly before the end."""


@dataclass(frozen=True)
class Terms:
    """mode: quick or full; kinds: nodes of one profile, several each; alone: nodes of which there is only one; unclaimed: nodes the
    inventory gives no claim for, so that they are not tried; until: when all has ended; by_themselves: whether nodes with NVLink SHARP
    are tried alone too.
    """

    mode: str
    kinds: Mapping[str, tuple[str, ...]]
    alone: tuple[str, ...] = ()
    unclaimed: tuple[str, ...] = ()
    until: datetime.datetime | None = None
    by_themselves: bool = False

    @property
    def nodes(self) -> tuple[str, ...]:
        """All that may enter."""
        return tuple(name for kind in self.kinds.values() for name in kind if name not in self.unclaimed)

    @property
    def seconds(self) -> float:
        """How long it takes when nothing is found, roughly."""
        return ROUND_SECONDS * rounds_of(max((len(kind) for kind in self.kinds.values()), default=0), self.mode, self.by_themselves)

    def over(self, now: datetime.datetime) -> str:
        """Why no further round begins; empty: one may."""
        short = self.until is not None and (self.until - now).total_seconds() < MARGIN_SECONDS
        return f"no time left before {self.until:%H:%M}" if short else ""


def usual(tier: str) -> str:
    """How thoroughly a tier tries pairs when nobody says: an acceptance tries every pair."""
    return "full" if tier == ACCEPTANCE else "quick"


def rounds_of(nodes: int, mode: str, by_themselves: bool = False) -> int:
    """Rounds of a campaign that finds nothing.

    >>> rounds_of(64, "quick"), rounds_of(64, "full"), rounds_of(2, "quick")
    (7, 68, 2)
    """
    pairs = nodes - 1 + nodes % 2 if mode == "full" else 2
    return pairs + max(0, (nodes - 1).bit_length() - 1) + 2 * by_themselves if nodes > 1 else 0


def settle(inventory: Inventory, wanted: Collection[str], mode: str, until: datetime.datetime | None = None,
           which: Callable[[str], str | None] = shutil.which, tier: str = "") -> Terms:
    """The terms for these nodes. Raises LoadRefused when there are several and none has a claim."""
    nodes = [node for node in inventory.nodes if node.name in wanted]
    kinds = {name: kind for name, kind in _kinds(nodes).items() if len(kind) > 1}
    several = {name for kind in kinds.values() for name in kind}
    if kinds and not any(node.claim for node in nodes if node.name in several):
        raise LoadRefused(f"{inventory.path}: {fold(node.name for node in nodes)}: no claim is given, and trials of several nodes need "
                          "one; write claim: slurm-job or claim: slurm-reservation under defaults, or claim: none where no scheduler hands "
                          "out the nodes")
    for node in nodes:
        if node.name in several and node.claim:
            claimable(inventory, node, which)
    unclaimed = tuple(node.name for node in nodes if node.name in several and not node.claim)
    alone = tuple(node.name for node in nodes if node.name not in several)
    sharp = tier == ACCEPTANCE and any(nvlink_sharp(inventory.profiles[profile]) for profile in kinds)
    return Terms(mode, kinds, alone, unclaimed, until, sharp)


def nvlink_sharp(profile: Profile) -> bool:
    """Whether its NVSwitches reduce: those of Hopper and later do, which are the ones that report their fabric."""
    return profile.gpu is not None and profile.gpu.fabric


def _kinds(nodes: Iterable[Node]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for node in nodes:
        found.setdefault(node.profile, []).append(node.name)
    return {profile: tuple(names) for profile, names in found.items()}


def wanted(needed: Mapping[str, Mapping[str, Collection[str]]], probe: str) -> set[str]:
    """The nodes that some check wants tried with others."""
    return {node for node, probes in needed.items() if probe in probes}

