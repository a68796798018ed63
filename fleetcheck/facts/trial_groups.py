"""What trials say of all nodes of a kind: switches, what blames nobody, how bandwidth grows and scales. Runs on the controller."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.collective.bench import size_label
from fleetcheck.collective.campaign.limits import LEAST_BYTES, op, size_of, what
from fleetcheck.collective.campaign.pairs import pair_groups
from fleetcheck.collective.curve import dips
from fleetcheck.collective.finding import Finding
from fleetcheck.facts.section import Section
from fleetcheck.groups import Group, blamed
from fleetcheck.recording import Offender, Part

if TYPE_CHECKING:
    from fleetcheck.facts.interconnect import Kind

Curve = dict[int, float]


class Whole(Section):
    """Nodes of one profile, together."""

    __slots__ = ("group", "kind")

    def __init__(self, group: Group, kind: Kind) -> None:
        super().__init__({}, "trials")
        self.group = group
        self.kind = kind
        if not kind.trials:
            why = next((each.not_run for each in kind.kept if each.not_run), kind.begun.ended)
            raise NotMeasured(f"profile {group.name}: no trial was run{': ' + why if why else ''}", self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """Those that took part."""
        return self.kind.nodes

    def switches(self) -> list[Offender]:
        """Leaves, racks or their uplinks that are at fault as a whole, and rails that are slow everywhere."""
        self.derived("groups", sum(len(set(of.values())) for of in self.kind.course.topology.groups.values()))
        found = [each for each in self.kind.findings if each.kind == "switch" or (each.kind == "rail" and len(each.members) not in (1, 2))]
        return self._told(found)

    def unplanned_links(self) -> list[Offender]:
        """Links at fault that have no item of their own: they were tried only because others failed."""
        planned = {frozenset(node.name for node in pair.nodes) for pair in pair_groups(self.group.nodes, self.kind.course.mode)}
        found = [each for each in self.kind.findings if each.blames and len(each.members) == 2 and each.kind in ("link", "rail")]
        return self._told([each for each in found if frozenset(each.members) not in planned])

    def undecided(self) -> list[Offender]:
        """Trials that failed while nobody can be blamed: configuration, fabric, or too little evidence."""
        failed = sum(trial.outcome != "ok" for trial in self.kind.standing.outcomes)
        self.derived("failed_trials", failed)
        return self._told([each for each in self.kind.findings if each.kind == "nobody"])

    def _told(self, findings: Iterable[Finding]) -> list[Offender]:
        """Noted; that there are none takes all trials to say. Raises NotMeasured."""
        findings = list(findings)
        if not findings and not self.kind.begun.over:
            why = self.kind.begun.ended or "the run was ended"
            raise NotMeasured(f"profile {self.group.name}: not all trials were run: {why}", self.names)
        return blamed([Offender(None, f"{each.symptom}: {each.message} ({len(each.trials)} trials)", nodes=each.members or self.names)
                       for each in findings])

    def scaling(self, efficiency: Bound) -> list[Offender]:
        """Groups of a size whose bus bandwidth falls too far below that of two nodes."""
        self._real_rates()
        curve = self.bandwidths("all_reduce")
        if len(curve) < 2:
            raise NotMeasured(f"profile {self.group.name}: all-reduce was measured among {', '.join(map(str, curve)) or 'no'} nodes only",
                              self.names)
        base = curve[min(curve)]
        shares = {members: self.derived(f"all_reduce_busbw_of_{members}_nodes_share", round(number / base, 3))
                  for members, number in curve.items()}
        return blamed([Offender(Part("group", f"{members} nodes"), f"all-reduce among {members} nodes reaches {curve[members]:.4g} GB/s, "
                                f"{share:.0%} of {base:.4g} among {min(curve)} (limit {efficiency})", nodes=self.names)
                       for members, share in shares.items() if share not in efficiency])

    def bandwidths(self, name: str) -> Curve:
        """Number of nodes → the median bus bandwidth of their trials, at the largest size that all of them measured."""
        found: dict[int, dict[int, list[float]]] = {}
        for members, size, number in self._rates(name):
            found.setdefault(members, {}).setdefault(size, []).append(number)
        shared = set.intersection(*map(set, found.values())) if found else set()
        size = max(shared, default=0)
        curve = {members: statistics.median(by_size[size]) for members, by_size in sorted(found.items())} if size else {}
        for members, number in curve.items():
            self.derived(f"{name}_busbw_of_{members}_nodes", round(number, 4))
        return curve

    def dips(self, fraction: Bound) -> list[Offender]:
        """Message sizes at which bandwidth falls below that at a smaller size."""
        self._real_rates()
        curve: Curve = {}
        most = max((members for members, _, _ in self._rates("all_reduce")), default=0)
        rates = [(size, number) for members, size, number in self._rates("all_reduce") if members == most]
        for size in sorted({size for size, _ in rates}):
            curve[size] = statistics.median(number for other, number in rates if other == size)
        if len(curve) < 2:
            raise NotMeasured(f"profile {self.group.name}: all-reduce was measured at {len(curve)} sizes: no curve", self.names)
        for size, number in curve.items():
            self.derived(f"all_reduce_busbw_{size_label(size)}", round(number, 4))
        return blamed([Offender(
            Part("size", size_label(dip.size)), f"all-reduce of {size_label(dip.size)} among {most} nodes reaches {dip.busbw:.4g} GB/s, "
            f"{dip.busbw / dip.best:.0%} of {dip.best:.4g} at {size_label(dip.best_size)} (limit {fraction})", nodes=self.names)
            for dip in dips(list(curve.items()), 1.0 - (fraction.low or 0.0))])

    def overlap(self, least: Bound) -> list[Offender]:
        """Whether all-reduce and matrix products together take as long as the longer alone, which is 1; one after the other: 0.5."""
        self._real_rates()
        ratios = [value.number for trial in self.kind.standing.outcomes if trial.outcome == "ok"
                  for value in trial.values if what(value.metric) == "ratio"]
        if not ratios:
            raise NotMeasured(f"profile {self.group.name}: overlap was measured in no trial", self.names)
        ratio = self.derived("overlap_ratio", round(statistics.median(ratios), 3))
        said = f"all-reduce and matrix products at once reach {ratio:g} of what they could (limit {least})"
        return blamed([] if ratio in least else [Offender(None, said, nodes=self.names)])

    def _rates(self, name: str) -> Iterator[tuple[int, int, float]]:
        """(nodes, size, GB/s) of all trials that went well."""
        for trial in self.kind.standing.outcomes:
            for value in trial.values if trial.outcome == "ok" else ():
                bandwidth = op(value.metric) == name and what(value.metric) == "busbw_gb_s" and not value.rail
                if bandwidth and size_of(value.metric) >= LEAST_BYTES:
                    yield len(trial.members), size_of(value.metric), value.number

    def _real_rates(self) -> None:
        """Skips the check where processors do the work: they share it with everything else, so that rates do not scale."""
        profile = self.kind.profile
        if self.kind.simulated_devices or (profile.gpu is None and "scaling_efficiency" not in profile.limits):
            pytest.skip(f"processors do the work of profile {profile.name}: their rates say nothing of how it scales")
