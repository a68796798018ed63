"""One node as a run saw it: what every verdict rule reads. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from fleetcheck.finding import Finding
from fleetcheck.inventory import Node
from fleetcheck.past import Told
from fleetcheck.reconcile import item
from fleetcheck.records import UNREACHABLE, Evidence, Failure, Planned, Result

IN_SERVICE = "in-service"
UNLISTED = "unlisted"
"""State of a node that the plan or a result names but the inventory does not."""


@dataclass(frozen=True)
class Observed:
    """results: the node's own, and those of multi-node items that name this node and no other (the culprit).

    held_back: checks whose failure here is part of a common cause. named: multi-node items that failed or could not be
    measured and name this node among others: nobody is blamed, nobody is certified. past: what earlier runs said of its findings,
    the newest first. passed_with: checks of several nodes, this one among them, that passed; told where there is a past.
    doubled: other names under which the same machine answers. found: its findings, once weighed.
    """

    name: str
    state: str
    profile: str = ""
    planned: tuple[Planned, ...] = ()
    results: tuple[Result, ...] = ()
    failure: Failure | None = None
    named: tuple[Result, ...] = ()
    held_back: frozenset[str] = frozenset()
    labels: Mapping[str, str] = field(default_factory=dict)
    past: tuple[Told, ...] = ()
    passed_with: frozenset[str] = frozenset()
    doubled: tuple[str, ...] = ()
    found: tuple[Finding, ...] = ()

    @property
    def in_service(self) -> bool:
        """Whether the node was to be contacted at all."""
        return self.state == IN_SERVICE

    @property
    def unreachable(self) -> bool:
        """Nobody could log in, for one probe at least."""
        return self.failure is not None and self.failure.kind in UNREACHABLE

    @property
    def measured(self) -> bool:
        """Whether at least one check was."""
        return any(result.outcome in ("passed", "failed") for result in self.results)

    @property
    def contacted(self) -> bool:
        """Whether the run tried to reach it."""
        return self.in_service and bool(self.planned or self.results or self.failure)

    @property
    def reached(self) -> bool:
        """Whether it counts among the nodes a common cause is measured against."""
        return self.contacted and (self.measured or not self.unreachable)

    def findings(self) -> list[Finding]:
        """Findings that count against this node."""
        return [each for each in self.found if not each.common_cause]


def machine_serial(evidence: Evidence) -> str:
    """The serial number the machine itself told, or empty."""
    answer = evidence.answers.get("system")
    serial = answer.data.get("serial") if answer else None
    return serial[:64] if isinstance(serial, str) else ""


def observe(
    nodes: Sequence[Node], planned: Sequence[Planned], results: Sequence[Result], failures: Mapping[str, Failure],
    past: Mapping[str, tuple[Told, ...]] | None = None, doubled: Mapping[str, tuple[str, ...]] | None = None,
) -> dict[str, Observed]:
    """Every node of the inventory in its order, then any that only the records name: nothing is dropped."""
    plans, outcomes, named, passed = _planned(planned), _blamed(results), _named(results), _passed_with(results, past or {})
    listed = {node.name: node for node in nodes}
    return {
        name: Observed(
            name=name, state=listed[name].state if name in listed else UNLISTED,
            profile=listed[name].profile if name in listed else "", planned=tuple(plans.get(name, ())),
            results=tuple(outcomes.get(name, ())), failure=failures.get(name), named=tuple(named.get(name, ())),
            labels=listed[name].labels if name in listed else {}, past=(past or {}).get(name, ()),
            passed_with=frozenset(passed.get(name, ())), doubled=(doubled or {}).get(name, ()),
        )
        for name in dict.fromkeys([*listed, *plans, *outcomes, *failures])
    }


def _planned(planned: Sequence[Planned]) -> dict[str, list[Planned]]:
    plans = defaultdict(list)
    for entry in planned:
        if entry.node:
            plans[entry.node].append(entry)
    return plans


def _blamed(results: Sequence[Result]) -> dict[str, list[Result]]:
    outcomes = defaultdict(list)
    for result in results:
        for name in result.blamed:
            outcomes[name].append(result)
    return outcomes


def _named(results: Sequence[Result]) -> dict[str, list[Result]]:
    named = defaultdict(list)
    for result in results:
        if not result.blamed and result.outcome in ("failed", "error"):
            for name in result.nodes:
                named[name].append(result)
    return named


def _passed_with(results: Sequence[Result], concerned: Collection[str]) -> dict[str, set[str]]:
    passed = defaultdict(set)
    for result in results if concerned else ():
        if not result.node and result.outcome == "passed":
            for name in set(result.nodes).intersection(concerned):
                passed[name].add(result.check)
    return passed


def coverage(node: Observed) -> dict[str, int]:
    """How many of the node's own items apply, and how many of those were measured; a skipped item counts in neither."""
    outcomes: dict[str, set[str]] = {item(entry): set() for entry in node.planned}
    for result in node.results:
        if result.node == node.name:
            outcomes.setdefault(item(result), set()).add(result.outcome)
    return {
        "planned": sum(said != {"skipped"} for said in outcomes.values()),
        "measured": sum(bool(said & {"passed", "failed"}) for said in outcomes.values()),
    }
