"""The NUMA nodes of a host under load, by the copies between each and the accelerators that are its own. Runs on the controller.

Copies to another NUMA node's accelerators are slower on every host, and an accelerator reaches its rate from its best side: neither
tells of a NUMA node whose memory is slow, its own accelerators together do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.load_link import Link
from fleetcheck.facts.section import Section
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts

HOSTS_END = {"h2d": "from", "d2h": "to"}


class Side(Section):
    """One NUMA node. rates: GB/s of its own accelerators' links by kind; others: those of the other NUMA nodes."""

    __slots__ = ("others", "rates")

    def __init__(self, name: str, rates: Mapping[str, list[float]], others: Sequence[Mapping[str, list[float]]]) -> None:
        super().__init__({}, "hostlink.sides", Part("numa-node", name, name))
        self.rates = rates
        self.others = others

    def behind(self, fraction: Bound) -> Concern | bool:
        """Which of its directions are slower than that fraction of the other NUMA nodes' median."""
        found = [words for kind in HOSTS_END if (words := self._behind(kind, fraction))]
        return bool(found) and Concern(f"{', '.join(found)} of the other NUMA nodes' median (limit {fraction})")

    def _behind(self, kind: str, fraction: Bound) -> str:
        own = median(self.rates[kind])
        share = self.derived(f"{kind}_of_other_sides", round(own / median(median(other[kind]) for other in self.others), 4))
        return "" if share in fraction else f"{kind} {own:.4g} GB/s with its own GPUs, {share:.0%}"


def sides(links: Parts[Link]) -> Parts[Side]:
    """The NUMA nodes that have accelerators of their own; skips the check where fewer than two do, or none tells which are its own.
    Raises NotMeasured where a link is missing or tells no rate."""
    local = [_local(link) for link in links]
    counts = Counter((link.kind, link.ends) for link in links)
    if (None in local and any(each is not None for each in local)) or len(set(counts.values())) > 1:
        raise NotMeasured("not every link to the host is told, or not whether it is a GPU's own NUMA node")
    found: dict[str, dict[str, list[float]]] = {}
    for link, own, rate in zip(links, local, [link.rate for link in links], strict=True):
        if own:
            found.setdefault(_name(link), {kind: [] for kind in HOSTS_END})[link.kind].append(rate)
    whole = {name: rates for name, rates in found.items() if all(rates.values())}
    if len(whole) < 2:
        pytest.skip("fewer than two NUMA nodes are known to have accelerators of their own")
    others = {name: [rates for other, rates in whole.items() if other != name] for name in whole}
    return Parts([Side(name, rates, others[name]) for name, rates in whole.items()], "NUMA nodes")


def _local(link: Link) -> bool | None:
    told = link.raw.get("local") if isinstance(link.raw, Mapping) else None
    return told if isinstance(told, bool) else None


def _name(link: Link) -> str:
    return str(link.raw.get(HOSTS_END[link.kind])) if isinstance(link.raw, Mapping) else ""
