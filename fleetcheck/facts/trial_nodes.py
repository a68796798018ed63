"""What trials with others say of one node: who blames it for what, over which network they went, what its counters and kernel say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.collective.campaign.limits import LATENCIES, what
from fleetcheck.collective.finding import Finding
from fleetcheck.collective.trial import Trial
from fleetcheck.collective.way import Way, way
from fleetcheck.facts.section import Section
from fleetcheck.groups import blamed
from fleetcheck.inventory import Node
from fleetcheck.recording import Offender, Part

if TYPE_CHECKING:
    from fleetcheck.facts.interconnect import Kind

NAMED_TRIALS = 6
RATE, LATENCY = "busbw_gb_s", "latency"


class Tried(Section):
    """One node in all its trials."""

    __slots__ = ("kind", "node", "trials")

    def __init__(self, node: Node, kind: Kind) -> None:
        super().__init__({}, "trials", Part("node", node.name))
        self.node = node
        self.kind = kind
        self.trials: list[Trial] = [trial for trial in kind.trials if node.name in trial.members]
        if not self.trials:
            raise NotMeasured(self._untried())

    def _untried(self) -> str:
        why = next((each.not_run for each in self.kind.kept if self.node.name in each.members and each.not_run), "")
        return f"{self.node.name}: no trial with it was run: {why or self.kind.begun.ended or 'nobody says why'}"

    def stopped(self, symptom: str) -> list[Offender]:
        """Findings that collectives crash, or time out, because of this node."""
        return self._found(symptom, [trial for trial in self.trials if not trial.stopped])

    def wrong(self) -> list[Offender]:
        """Findings that it spoils data."""
        return self._found("wrong-data", [trial for trial in self.trials if trial.outcome == "ok"])

    def slow(self, figure: str) -> list[Offender]:
        """Findings that it is slow as a whole. figure: busbw_gb_s, or latency. Skips the check where nothing was there to judge by."""
        judged = list(self._judged(figure))
        if not judged:
            measured = any(_is(figure, value.metric) for trial in self.trials for value in trial.values)
            if measured:
                pytest.skip(f"fewer than 8 trials alike, and profile {self.kind.profile.name} gives no limit: nothing to judge {figure} by")
        return self._found("slow", [trial for trial in judged if not self._slow(trial, figure)], figure)

    def slow_rails(self) -> list[Offender]:
        """Findings that one rail of it is slow, each naming the HCA. Skips the check where rails were not told apart."""
        rails = {rail for trial in self.trials if trial.id in self.kind.paces for rail in self.kind.paces[trial.id].rails} - {""}
        if not rails:
            pytest.skip("rails were not told apart: each node has one rank, or the figures of rails have nothing to be judged by")
        self.derived("rails", len(rails))
        return blamed([Offender(Part("nic", self._hca(each.rail), f"rail {each.rail}"), self._words(each)) for each in self._mine("rail")])

    def way(self) -> Way:
        """What the library used between nodes, by its log. Raises NotMeasured when it wrote nothing of a network."""
        found = way([str(line) for each in self._told() for line in _listed(each.get("way"))])
        if not found.networks:
            raise NotMeasured(f"{self.node.name}: the library's log says nothing of a network")
        self.derived("networks", ", ".join(sorted(found.networks)))
        return found

    def grown(self) -> dict[str, int]:
        """Error counters that grew during trials, in sum, such as ``mlx5_0/1 symbol_error``. Raises NotMeasured when none were told."""
        found: dict[str, int] = {}
        told = [each.get("grew") for each in self._told()]
        usable = [each for each in told if isinstance(each, Mapping) and "absent" not in each]
        if not usable:
            raise NotMeasured(f"{self.node.name}: no counters were told around its trials")
        for each in usable:
            for name, count in each.items():
                if isinstance(count, int):
                    found[str(name)] = found.get(str(name), 0) + count
        return found

    def counted(self) -> set[str]:
        """Links and HCAs whose error counters were read around some trial."""
        return {str(name) for each in self._told() for name in _listed(each.get("counted"))}

    def kernel_lines(self) -> list[tuple[str, str]]:
        """(trial, line) of the kernel log during its trials. Raises NotMeasured when it could not be read in any."""
        told = [(each.name, each.told[self.node.name].get("kernel")) for each in self._kept()]
        usable = [(name, lines) for name, lines in told if isinstance(lines, list)]
        if not usable:
            reason = next((lines["absent"] for _, lines in told if isinstance(lines, Mapping) and "absent" in lines), "not told")
            raise NotMeasured(f"{self.node.name}: the kernel log around its trials: {reason}")
        return [(name, str(line)) for name, lines in usable for line in lines]

    def _kept(self) -> list[Any]:
        return [each for each in self.kind.kept if self.node.name in each.told]

    def _told(self) -> list[Mapping[str, Any]]:
        return [each.told[self.node.name] for each in self._kept()]

    def _found(self, symptom: str, well: list[Trial], figure: str = "") -> list[Offender]:
        """The findings of a symptom, noted; without any, some trial must have shown that the node is well."""
        self.derived(f"{symptom}_trials", len(self.trials) - len(well))
        mine = [each for each in self._mine("node") if each.symptom == symptom and (not figure or self._figure(each) == figure)]
        if not mine and not well:
            raise NotMeasured(f"{self.node.name}: {self._why_not()}")
        return blamed([Offender(None, self._words(each)) for each in mine])

    def _mine(self, kind: str) -> Iterator[Finding]:
        return (each for each in self.kind.findings if each.kind == kind and each.members == (self.node.name,))

    def _why_not(self) -> str:
        """Why nothing shows that it is well, though nobody blames it."""
        about = [each for each in self.kind.findings if self.node.name in each.members]
        said = "; ".join(each.message for each in about[:2])
        return f"none of its {len(self.trials)} trials shows it{': ' + said if said else ''}"

    def _words(self, finding: Finding) -> str:
        named = ", ".join(finding.trials[:NAMED_TRIALS])
        more = f" and {len(finding.trials) - NAMED_TRIALS} more" if len(finding.trials) > NAMED_TRIALS else ""
        said = next((f"; {trial.id}: {trial.message:.300}" for trial in self.trials if trial.id in finding.trials and trial.message), "")
        return f"{self.node.name}: {finding.symptom}: {finding.message}; confidence {finding.confidence:.2f}, trials {named}{more}{said}"

    def _judged(self, figure: str) -> Iterator[Trial]:
        """Trials with such a figure that had something to be judged by."""
        paces = self.kind.paces
        return (trial for trial in self.trials if trial.id in paces and paces[trial.id].rails and
                any(_is(figure, value.metric) for value in trial.values))

    def _slow(self, trial: Trial, figure: str) -> bool:
        return any(_is(figure, words.partition(" ")[0]) for said in self.kind.paces[trial.id].slow.values() for words in said)

    def _figure(self, finding: Finding) -> str:
        """What a finding of slowness is about: bandwidth, where any of its trials shows that, else latency."""
        trials = [trial for trial in self.trials if trial.id in finding.trials and trial.id in self.kind.paces]
        rates = any(self._slow(trial, RATE) for trial in trials)
        return LATENCY if trials and not rates and any(self._slow(trial, LATENCY) for trial in trials) else RATE

    def _hca(self, rail: str) -> str:
        """The HCA of a rail: rail N is that of accelerator N, in the order of the profile."""
        names = self.kind.profile.hcas.names if self.kind.profile.hcas else ()
        return names[int(rail)] if rail.isdecimal() and int(rail) < len(names) else f"rail {rail}"


def _is(figure: str, metric: str) -> bool:
    """Whether a metric is one of bandwidth, or of latency."""
    return what(metric) in LATENCIES if figure == LATENCY else what(metric) == figure


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []

