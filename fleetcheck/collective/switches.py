"""Groups that fail as a whole: a switch, or its uplinks. Runs on the controller; pure.

A group is suspected when no trial that touches it went well: all traffic of its nodes fails; or when trials that cross its border fail and
trials inside it go well: its uplinks. It is blamed when each of its nodes (of uplinks: three trials) failed with a partner outside it that
is well otherwise, across leaves where the uplinks are in question.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fleetcheck.collective.ledger import Ledger
from fleetcheck.collective.need import Need
from fleetcheck.collective.observation import Observation
from fleetcheck.collective.topology import LEAST_GROUP, Topology

LEAST_CROSSINGS = 3
"""Failed trials across the border, each with another partner that is well across leaves, before uplinks are blamed."""


@dataclass(frozen=True)
class Suspected:
    """A group whose every trial failed. scope: all or uplinks; failed: those trials; needs: what is missing before it is blamed."""

    label: str
    name: str
    members: tuple[str, ...]
    scope: str
    failed: tuple[Observation, ...]
    needs: tuple[Need, ...] = ()

    @property
    def certain(self) -> bool:
        """Whether it is blamed already."""
        return not self.needs


@dataclass
class _Traffic:
    inner: dict[bool, list[Observation]] = field(default_factory=lambda: {True: [], False: []})
    crossing: dict[bool, list[Observation]] = field(default_factory=lambda: {True: [], False: []})


def suspected(book: Ledger, topology: Topology) -> list[Suspected]:
    """The groups of all labels that fail as a whole, none of them inside another one; the largest first."""
    found: list[Suspected] = []
    for label, of in topology.groups.items():
        failing = _failing(book, of)
        if failing:
            crossers = _well_across(book, of)
            traffic = _traffic(book.pairs, of, failing)
            suspects = (_suspect(label, name, topology.members(label, name), its, book, crossers) for name, its in traffic.items())
            found += [each for each in suspects if each]
    return _outermost(found)


def _failing(book: Ledger, of: Mapping[str, str]) -> set[str]:
    """The groups whose border trials crossed, all of which failed."""
    crossed = {of[node] for pairs in book.failures.values() for pair in pairs if _crosses(pair, of) for node in pair.members if node in of}
    clear = {of[node] for node, pairs in book.passes.items() if of.get(node) in crossed and any(_crosses(pair, of) for pair in pairs)}
    return crossed - clear


def _crosses(pair: Observation, of: Mapping[str, str]) -> bool:
    one, two = pair.members
    return of.get(one) != of.get(two)


def _traffic(pairs: Iterable[Observation], of: Mapping[str, str], names: Collection[str]) -> dict[str, _Traffic]:
    found: dict[str, _Traffic] = {}
    for pair in pairs:
        one, two = of.get(pair.members[0], ""), of.get(pair.members[1], "")
        for name in {one: None, two: None}:
            if name in names:
                its = found.setdefault(name, _Traffic())
                (its.inner if one == two else its.crossing)[pair.failed].append(pair)
    return found


def _well_across(book: Ledger, of: Mapping[str, str]) -> set[str]:
    """Nodes that were well with a node of another group."""
    return {node for pair in book.pairs if not pair.failed and _crosses(pair, of) for node in pair.members}


def _suspect(label: str, name: str, members: tuple[str, ...], its: _Traffic, book: Ledger, crossers: set[str]) -> Suspected | None:
    if its.inner[False]:
        return _uplinks(label, name, members, its, crossers)
    return _whole(label, name, members, its, book)


def _whole(label: str, name: str, members: tuple[str, ...], its: _Traffic, book: Ledger) -> Suspected | None:
    failing = [node for node in members if node in book.failures]
    if len(failing) < LEAST_GROUP:
        return None
    inside = set(members)
    proven = {node for pair in its.crossing[True] for node in pair.members if node in inside and _outsider_good(pair, inside, book.passes)}
    outside = frozenset(book.passes) - inside
    needs = tuple(Need(node, among=outside, why=f"all of {label} {name}, or nodes of it?") for node in failing if node not in proven)
    return Suspected(label, name, members, "all", (*its.inner[True], *its.crossing[True]), needs)


def _uplinks(label: str, name: str, members: tuple[str, ...], its: _Traffic, crossers: set[str]) -> Suspected | None:
    inside = set(members)
    well_inside = {node for pair in its.inner[False] for node in pair.members}
    telling = [pair for pair in its.crossing[True] if not well_inside.isdisjoint(pair.members)]
    failing = [node for node in members if any(node in pair.members for pair in telling)]
    if len(failing) < 2:
        return None
    proofs = [pair for pair in telling if _outsider_good(pair, inside, crossers)]
    partners = {node for pair in proofs for node in pair.members if node not in inside}
    missing = LEAST_CROSSINGS - len(partners)
    outside = frozenset(crossers) - inside - partners
    asked = failing[:missing + 1] if missing > 0 else []
    needs = tuple(Need(node, among=outside, why=f"the uplinks of {label} {name}, or links?") for node in asked)
    return Suspected(label, name, members, "uplinks", tuple(its.crossing[True]), needs)


def _outsider_good(pair: Observation, inside: set[str], good: Iterable[str]) -> bool:
    return any(node in good for node in pair.members if node not in inside)


def _outermost(found: list[Suspected]) -> list[Suspected]:
    kept: list[Suspected] = []
    for each in sorted(found, key=lambda group: -len(group.members)):
        if not any(set(each.members) <= set(other.members) for other in kept):
            kept.append(each)
    return kept
