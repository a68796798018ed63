"""What nodes of one place show at once: a leaf switch that is down is one finding about the switch, not sixteen bad nodes. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetcheck.common_cause import LEAST_NODES, LEAST_SHARE, Common, narrowed_causes, said_by_most
from fleetcheck.inventory import fold
from fleetcheck.observed import Observed
from fleetcheck.records import Result
from fleetcheck.verdict_rules import CONFIGURED_WRONGLY, rank

LINKS = frozenset({"network", "nic", "rdma", "fabric", "interconnect", "cabling"})
PLACES: Mapping[str, frozenset[str]] = {
    "leaf": LINKS, "rail": LINKS, "nvlink_domain": frozenset({"nvlink", "fabric"}), "power_feed": frozenset({"power"}),
    "rack": LINKS | {"power", "thermal"},
}
"""By label of a node, the components of a check that what stands behind the label can spoil on all of its nodes."""
DARK = ("leaf", "power_feed", "rack")
"""What takes all of its nodes away when it is down."""
OF_PLACE, SILENT = 0.75, 0.90
"""So many of a place's nodes must show it; elsewhere a tenth at most may."""


@dataclass(frozen=True)
class Shared:
    """One check that failed nearly everywhere in one place and hardly anywhere else. of: nodes of the place that measured it."""

    label: str
    value: str
    common: Common
    of: int

    @property
    def check(self) -> str:
        """Its name."""
        return self.common.check

    @property
    def names(self) -> tuple[str, ...]:
        """The nodes concerned."""
        return self.common.names


def shared_places(nodes: Mapping[str, Observed]) -> list[Shared]:
    """Checks whose failures one place explains, each with the first kind of place that does."""
    checks: dict[str, dict[str, Result]] = defaultdict(dict)
    for node in nodes.values():
        for result in node.results:
            if result.outcome == "failed":
                checks[result.check][node.name] = result
    return [each for check, failed in checks.items() if len(failed) >= LEAST_NODES for each in _of_check(check, failed, nodes)]


def _of_check(check: str, failed: Mapping[str, Result], nodes: Mapping[str, Observed]) -> Iterator[Shared]:
    component = next(iter(failed.values())).component
    measured = [node for node in nodes.values() if _measured(node, check)] if any(component in each for each in PLACES.values()) else []
    kinds = (list(_places(label, measured, failed.keys(), OF_PLACE)) for label, components in PLACES.items() if component in components)
    for label, value, names in next(filter(None, kinds), []):
        common = narrowed_causes(check, {name: failed[name] for name in names if name in failed})
        if len(common.failed) >= LEAST_NODES:
            yield Shared(label, value, common, len(names))


def _measured(node: Observed, check: str) -> bool:
    return any(each.check == check and each.outcome in ("passed", "failed") for each in node.results)


def _places(label: str, nodes: Sequence[Observed], concerned: Collection[str], share: float) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The places of one kind where nearly all nodes are concerned, with their nodes; none where the other places are concerned as well,
    or where there is no other."""
    groups: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        groups[node.labels.get(label, "")].append(node.name)
    full = {value: names for value, names in groups.items() if value and _is_full(names, concerned, share)}
    rest = [name for value, names in groups.items() if value not in full for name in names]
    if rest and sum(name in concerned for name in rest) <= LEAST_SHARE * len(rest):
        yield from ((label, value, tuple(names)) for value, names in full.items())


def _is_full(names: Sequence[str], concerned: Collection[str], share: float) -> bool:
    count = sum(name in concerned for name in names)
    return count >= LEAST_NODES and count >= share * len(names)


def place_findings(shared: Iterable[Shared]) -> list[dict[str, Any]]:
    """One finding for each place, whatever number of checks failed there."""
    places: dict[tuple[str, str], list[Shared]] = defaultdict(list)
    for each in shared:
        places[each.label, each.value].append(each)
    return [_place_finding(*place, found) for place, found in places.items()]


def _place_finding(label: str, value: str, found: Sequence[Shared]) -> dict[str, Any]:
    names = list(dict.fromkeys(name for each in found for name in each.names))
    worst = max((result for each in found for result in each.common.failed.values()), key=rank)
    parts = {part.get("label", "") for each in found for result in each.common.failed.values() for part in result.parts}
    port = f", {next(iter(parts))}" if len(parts) == 1 else ""
    message = f"{label} {value}{port}: look there, not at its nodes, all of which say: {said_by_most(found[0].common)}"
    return _finding(found[0].check, [each.check for each in found], worst.severity, message, names, max(each.of for each in found))


def _finding(check: str, checks: Sequence[str], severity: str, message: str, names: Sequence[str], of: int) -> dict[str, Any]:
    silent = not checks
    return {"kind": "place", "check": check, "checks": list(checks), "severity": severity, "action": "observe", "message": message,
            "nodes": fold(names), "failed": 0 if silent else len(names), "unmeasured": len(names) if silent else 0, "of": of}


def silent_places(nodes: Mapping[str, Observed]) -> list[dict[str, Any]]:
    """Places all of whose nodes are silent while the others answer: the switch or the power, not the nodes."""
    contacted = [node for node in nodes.values() if node.contacted]
    silent = {node.name for node in contacted if node.unreachable and node.failure and node.failure.kind not in CONFIGURED_WRONGLY}
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for label in DARK if len(silent) >= LEAST_NODES else ():
        for kind, value, names in _places(label, contacted, silent, SILENT):
            concerned = tuple(name for name in names if name in silent)
            message = f"{kind} {value}: its nodes are silent and the others answer: look at its switch and its power"
            found.setdefault(concerned, _finding("no answer", [], "warn", message, concerned, len(names)))
    return list(found.values())
