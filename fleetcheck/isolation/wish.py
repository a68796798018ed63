"""Which nodes a judged run wants out of service, and by which measured finding. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetcheck.nodeset import unfold
from fleetcheck.records import ISOLATING, SEVERITIES
from fleetcheck.run import RunError

Verdicts = Mapping[str, Any]


@dataclass(frozen=True)
class Wish:
    """A node to isolate. checks: every finding that alone would do, the worst first; none: nothing was measured that would."""

    node: str
    verdict: str
    checks: tuple[str, ...]
    severity: str
    why: str


def wanted(verdicts: Verdicts) -> list[Wish]:
    """The nodes verdicts.json names under ``isolate``, the gravest first. Raises RunError on one that it does not judge."""
    try:
        names = unfold(verdicts["isolate"]) if verdicts["isolate"] else ()
        wishes = [_wish(name, verdicts["nodes"][name]) for name in names]
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"verdicts.json of run {verdicts.get('run', '?')}: {error} is not as expected; "
                       f"judge the run again: fleetcheck judge {verdicts.get('run', 'RUN')}") from None
    return sorted(wishes, key=lambda wish: (-_gravity(wish.severity), wish.node))


def _wish(name: str, node: Mapping[str, Any]) -> Wish:
    found = [each for each in node["findings"] if _isolates(each)]
    worst = found[0] if found else {}
    why = f"{worst['check']}: {worst['message']}" if worst else f"verdict {node['verdict']}"
    return Wish(name, node["verdict"], tuple(each["check"] for each in found), worst.get("severity", ""), why)


def _isolates(finding: Mapping[str, Any]) -> bool:
    """Whether a finding may take a node out of service: the node's own, measured by this run, more than a warning and often enough, and its
    cure needs the node idle."""
    grave = finding["severity"] in ("fatal", "degraded") and not finding.get("suspect")
    return bool(grave and not finding["common_cause"] and not finding.get("open_since") and finding["action"] in ISOLATING)


def _gravity(severity: str) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else -1


