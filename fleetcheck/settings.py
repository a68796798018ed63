"""What the command line asked of a fleet run, and how run.json tells it. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

TIER = "quick"
ACCEPTANCE = "acceptance"
"""The tier that tries every pair of nodes, where nobody says otherwise."""
CLOCKED_TIER = "burnin"
"""What a duration or an end asks for, where no tier is named."""


@dataclass(frozen=True)
class Settings:
    """The options of a run. An empty nodes, group or tier means what the earlier run had, else all nodes and quick.

    duration: seconds of each node's load; until: when all loads have ended; max_loaded: nodes under load at once; pairs: quick or full;
    shard: 3/16 of the nodes; merge: how many shards are joined.
    """

    inventory: str = ""
    nodes: str = ""
    group: str = ""
    tier: str = ""
    replay: str = ""
    resume: str = ""
    reports: Path = Path("reports")
    connections: int = 32
    duration: float | None = None
    until: str = ""
    max_loaded: int | None = None
    pairs: str = ""
    html: bool = True
    metrics_dir: str = ""
    shard: str = ""
    merge: int = 0

    @property
    def fleet(self) -> bool:
        """Whether this is a fleet run at all."""
        return bool(self.inventory or self.replay or self.resume)

    @property
    def earlier(self) -> str:
        """The run this one starts from, as it was named."""
        return self.replay or self.resume

    def after(self, earlier: Mapping[str, Any]) -> Settings:
        """These settings, completed by those of an earlier run (its run.json; empty: there is none)."""
        chosen = self if self.nodes or self.group else replace(
            self, nodes=str(earlier.get("nodes", "")), group=str(earlier.get("group", "")))
        if not (self.duration or self.until):
            chosen = replace(chosen, duration=earlier.get("duration"), until=str(earlier.get("until") or ""))
        usual = CLOCKED_TIER if chosen.duration or chosen.until else TIER
        tier = self.tier or str(earlier.get("tier") or usual)
        pairs = self.pairs or str(earlier.get("pairs") or ("full" if tier == ACCEPTANCE else "quick"))
        return replace(chosen, tier=tier, pairs=pairs, max_loaded=self.max_loaded or earlier.get("max_loaded"))
