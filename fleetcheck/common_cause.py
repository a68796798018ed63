"""Findings about the controller or the configuration: what too many nodes show at once. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetcheck.inventory import fold
from fleetcheck.observed import Observed
from fleetcheck.records import PUT_OFF, Result
from fleetcheck.verdict_rules import CONFIGURED_WRONGLY, rank, worst_first

LEAST_NODES = 4
LEAST_SHARE = 0.10
SILENT_SHARE = 0.50
"""From here on, nodes without an answer mean the controller's own network; one dark rack is smaller."""


@dataclass(frozen=True)
class Common:
    """One check that too many of the reached nodes failed or could not be measured on."""

    check: str
    failed: Mapping[str, Result]
    unmeasured: Mapping[str, Result]

    @property
    def names(self) -> tuple[str, ...]:
        """Nodes concerned, in the order of the run."""
        return tuple(dict.fromkeys([*self.failed, *self.unmeasured]))


def generic(text: str, name: str) -> str:
    """A message without the node's own name, so that the same words fold over nodes.

    >>> generic("sim-02: sim-02 has 7 GPUs, as sim-021 has", "sim-02")
    '<node> has 7 GPUs, as sim-021 has'
    """
    text = text.removeprefix(f"{name}: ")
    return re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", "<node>", text) if name and name in text else text


def is_common(concerned: int, of: int, share: float = LEAST_SHARE) -> bool:
    """Whether so many of the nodes at once are one cause."""
    return concerned >= LEAST_NODES and concerned >= share * of


def common_checks(nodes: Mapping[str, Observed], explained: Mapping[str, frozenset[str]] | None = None) -> list[Common]:
    """Checks that fail or go unmeasured on too many of the reached nodes; what a lost login left is not counted, nor what a
    node's own fatal finding leaves unmeasured (a lost GPU tells nothing of its memory), nor loads put off for a job. explained: by node,
    checks that its place explains already."""
    reached = [node for node in nodes.values() if node.reached]
    failed: dict[str, dict[str, Result]] = defaultdict(dict)
    unmeasured: dict[str, dict[str, Result]] = defaultdict(dict)
    for node in reached:
        own_fault = node.unreachable or any(each.severity == "fatal" for each in node.results if each.outcome == "failed")
        known = (explained or {}).get(node.name, frozenset())
        put_off = node.failure.message if node.failure and node.failure.kind in PUT_OFF else None
        for result in node.results:
            if result.outcome == "failed" and result.check not in known:
                failed[result.check][node.name] = result
            elif result.outcome == "error" and not own_fault and not (put_off and put_off in result.message):
                unmeasured[result.check][node.name] = result
    found = [_common(check, failed[check], unmeasured[check], len(reached)) for check in dict.fromkeys([*failed, *unmeasured])]
    return [each for each in found if is_common(len(each.names), len(reached))]


def _common(check: str, failed: Mapping[str, Result], unmeasured: Mapping[str, Result], of: int) -> Common:
    """A check with the failures that may be of one cause: four nodes with four different kernel events are four faulty nodes."""
    counted = Counter(cause for result in failed.values() for cause in result.causes)
    shared = {cause for cause, count in counted.items() if is_common(count, of)}
    return Common(check, {name: result for name, result in failed.items() if shared.issuperset(result.causes)}, unmeasured)


def narrowed_causes(check: str, failed: Mapping[str, Result]) -> Common:
    """The failures of one place that may be of one cause."""
    return _common(check, failed, {}, len(failed))


def check_findings(commons: Sequence[Common], reached: int) -> list[dict[str, Any]]:
    """One finding for each common check; those unmeasured on the same nodes for the same reason are one finding."""
    groups: dict[object, list[Common]] = defaultdict(list)
    for each in commons:
        groups[each.check if each.failed else (each.names, said_by_most(each))].append(each)
    return [_check_finding(group, reached) for group in groups.values()]


def _check_finding(group: Sequence[Common], reached: int) -> dict[str, Any]:
    first = group[0]
    worst = max(first.failed.values(), key=rank, default=None)
    return {
        "kind": "common-cause", "check": first.check, "checks": [each.check for each in group],
        "severity": worst.severity if worst else "warn", "action": "fix-config", "message": said_by_most(first),
        "nodes": fold(first.names), "failed": len(first.failed), "unmeasured": len(first.unmeasured), "of": reached,
    }


def said_by_most(common: Common) -> str:
    """The words most of the nodes use; of failures where there are any."""
    said = common.failed or common.unmeasured
    return Counter(generic(result.message, name) for name, result in said.items()).most_common(1)[0][0]


def login_findings(nodes: Mapping[str, Observed]) -> list[dict[str, Any]]:
    """Logins refused, or silence, on so many nodes that the controller or its configuration is to blame."""
    contacted = [node for node in nodes.values() if node.contacted]
    kinds: dict[str, list[Observed]] = defaultdict(list)
    for node in contacted:
        if node.failure is not None and node.unreachable:
            kinds[node.failure.kind if node.failure.kind in CONFIGURED_WRONGLY else "no answer"].append(node)
    return [
        _login_finding(kind, members, len(contacted)) for kind, members in kinds.items()
        if is_common(len(members), len(contacted), LEAST_SHARE if kind in CONFIGURED_WRONGLY else SILENT_SHARE)
    ]


def _login_finding(kind: str, members: Sequence[Observed], contacted: int) -> dict[str, Any]:
    said = Counter(generic(node.failure.message, node.name) for node in members if node.failure)
    return {
        "kind": "login", "check": kind, "checks": [], "severity": "warn", "action": "fix-config",
        "message": said.most_common(1)[0][0], "nodes": fold(node.name for node in members),
        "failed": 0, "unmeasured": len(members), "of": contacted,
    }


def several_findings(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Failed items about several nodes or the fleet as a whole: nobody is blamed for them."""
    failed = [each for each in results if each.outcome == "failed" and not each.blamed]
    return [
        {
            "kind": "fleet-check", "check": each.check, "checks": [each.check], "severity": each.severity,
            "action": each.action, "message": each.message, "nodes": fold(each.nodes),
            "failed": len(each.nodes), "unmeasured": 0, "of": len(each.nodes),
        }
        for each in worst_first(failed)
    ]
