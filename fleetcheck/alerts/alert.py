"""One alert: what it is called, whom it concerns, how urgent it is. Pure."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TICKET, PAGE = "ticket", "page"
FAILED, DEGRADED = "FleetcheckNodeFailed", "FleetcheckNodeDegraded"
UNREACHABLE, UNMEASURED = "FleetcheckNodeUnreachable", "FleetcheckNodeNotMeasured"
COMMON_CAUSE, BETWEEN = "FleetcheckCommonCause", "FleetcheckSeveralNodes"
CAPACITY, STALE = "FleetcheckCapacityLow", "FleetcheckNoCompleteRun"
NAMES: Mapping[str, str] = {
    FAILED: TICKET, DEGRADED: TICKET, UNREACHABLE: TICKET, UNMEASURED: TICKET, BETWEEN: TICKET,
    COMMON_CAUSE: PAGE, CAPACITY: PAGE, STALE: PAGE,
}
"""Every alert and its severity: one node is a ticket; what takes the fleet, or blinds us to it, is a page."""


@dataclass(frozen=True)
class Alert:
    """labels: fleet, and node, tier or check where it is about one: what it is told apart by. since: when the oldest run that shows it
    began. run: the run that counts; checks: that have to pass before it ends; serial: the machine it is about."""

    name: str
    labels: Mapping[str, str]
    summary: str
    description: str = ""
    since: str = ""
    run: str = ""
    tier: str = ""
    checks: tuple[str, ...] = field(default=())
    serial: str = ""

    @property
    def severity(self) -> str:
        """``ticket`` or ``page``."""
        return NAMES[self.name]

    @property
    def id(self) -> str:
        """The same for the same alert of every run, whatever its words.

        >>> Alert("FleetcheckNodeFailed", {"node": "n1"}, "a").id == Alert("FleetcheckNodeFailed", {"node": "n1"}, "b").id
        True
        """
        told = json.dumps([self.name, sorted(self.labels.items())])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def told(self) -> dict[str, Any]:
        """As the ledger keeps it."""
        return dataclasses.asdict(self)


def of_line(told: Mapping[str, Any]) -> Alert:
    """An alert the ledger kept. Raises TypeError or KeyError where it is none."""
    alert = Alert(**{**told, "checks": tuple(told["checks"])})
    NAMES[alert.name]
    return alert
