"""What a run is judged by, beside its results: tier, whether it is complete, how often counts as often. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleetcheck.acceptance.hours import Accepted
from fleetcheck.policy import Repeats


@dataclass(frozen=True)
class Terms:
    """What a certificate of this run takes, and how history weighs. required: the checks the tier names; empty: every applicable one;
    accepted: the node's hours under load, in an acceptance."""

    tier: str
    complete: bool
    partial: str = ""
    required: tuple[str, ...] = ()
    accepted: Accepted | None = None
    run: str = ""
    started: str = ""
    repeats: Repeats = field(default_factory=Repeats)
