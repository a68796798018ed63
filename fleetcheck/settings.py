"""What the command line asked of a fleet run, and how run.json tells it. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

TIER = "quick"


@dataclass(frozen=True)
class Settings:
    """The options of a run. An empty nodes, group or tier means what the earlier run had, else all nodes and quick."""

    inventory: str = ""
    nodes: str = ""
    group: str = ""
    tier: str = ""
    replay: str = ""
    resume: str = ""
    reports: Path = Path("reports")
    connections: int = 32

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
        return replace(chosen, tier=self.tier or str(earlier.get("tier") or TIER))
