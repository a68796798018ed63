"""One finding about one node, with what earlier runs and the node's other findings say of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetcheck.records import Result


@dataclass(frozen=True)
class Finding:
    """common_cause: shared by many nodes, so not held against this one. since: when the oldest run began that saw it and after which
    nothing proved it gone; runs: how many measured it since; time: how often it has come within the window; failed, measured: complete
    runs, of the last few that asked. suspect: soft, and not often enough yet to isolate; isolates: often enough; flaky: passes and
    fails in turn. open_since: the run that measured it last, where this one did not (carried); tier: of that run. follows: the check
    whose finding explains this one; consequences: the checks this one explains; unmeasured: and how many it left unmeasured."""

    check: str
    component: str
    severity: str
    action: str
    message: str
    parts: tuple[Mapping[str, str], ...] = ()
    boot_id: str = ""
    common_cause: bool = False
    since: str = ""
    runs: int = 1
    time: int = 1
    failed: int = 0
    measured: int = 0
    suspect: bool = False
    isolates: bool = False
    flaky: bool = False
    open_since: str = ""
    tier: str = ""
    follows: str = ""
    consequences: tuple[str, ...] = ()
    unmeasured: int = 0

    @property
    def carried(self) -> bool:
        """Whether an earlier run found it and this one did not measure it."""
        return bool(self.open_since)

    def told(self) -> dict[str, Any]:
        """As verdicts.json keeps it; what history and folding add only where they say something."""
        said = {
            "check": self.check, "severity": self.severity, "action": self.action, "message": self.message,
            "component": self.component, "parts": [dict(part) for part in self.parts], "common_cause": self.common_cause,
        }
        more = {
            "since": self.since, "runs": self.runs, "time": self.time, "failed": self.failed, "measured": self.measured,
            "suspect": self.suspect, "isolates": self.isolates, "flaky": self.flaky, "open_since": self.open_since, "tier": self.tier,
            "follows": self.follows, "consequences": list(self.consequences), "unmeasured": self.unmeasured,
        }
        return {**said, **{key: value for key, value in more.items() if value}}


def found(result: Result, common_cause: bool = False) -> Finding:
    """A failed result as a finding."""
    return Finding(result.check, result.component, result.severity, result.action, result.message, tuple(result.parts), result.boot_id,
                   common_cause)
