"""The facts of the node under check: its evidence read once, each fact built once. Runs on the controller."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Protocol

from fleetcheck.absent import NotMeasured
from fleetcheck.facts.clock import asked
from fleetcheck.facts.registry import Fact
from fleetcheck.installed import installed
from fleetcheck.inventory import Node
from fleetcheck.observed import machine_serial
from fleetcheck.profile import Profile
from fleetcheck.recording import Part
from fleetcheck.records import Evidence, Failure, Share

FIRST_PROBE = "facts-fast"
"""Its failure says best why a node told nothing."""


class Source(Protocol):
    """Where evidence comes from: nodes being asked, or a recorded run."""

    def evidence(self, node: str, probe: str) -> Evidence:
        """One probe's evidence, waiting for it. Raises NotMeasured when there is none, RunError when the disk is full."""
        ...

    def turns(self, wanted: Mapping[Share, Collection[str]]) -> Iterator[Share]:
        """Nodes and stages as they can be judged: each once, when the probes it reads are answered."""
        ...

    def close(self) -> None:
        """End whatever is in flight."""
        ...


class FactsAtHand:
    """One node's facts at a time, since items run node by node; what evidence told of every node stays.

    failures: why a node's probe brought no answer; serials: of the machines that answered;
    parts: the pieces they told, by node and label.
    """

    def __init__(self, source: Source, profiles: Mapping[str, Profile]) -> None:
        self.failures: dict[str, Failure] = {}
        self.serials: dict[str, str] = {}
        self.parts: dict[str, dict[str, Part]] = {}
        self._source = source
        self._profiles = profiles
        self._turn_to("")

    def _turn_to(self, node: str) -> None:
        self._node = node
        self._facts: dict[str, Any] = {}
        self._evidence: dict[str, Evidence] = {}

    def fact(self, node: Node, fact: Fact) -> Any:
        """The view a check asks for. Raises NotMeasured saying why there is none."""
        if node.name != self._node:
            self._turn_to(node.name)
        if fact.name not in self._facts:
            self._facts[fact.name] = self._built(node, fact)
        found = self._facts[fact.name]
        if isinstance(found, NotMeasured):
            raise NotMeasured(str(found))
        return found

    def _built(self, node: Node, fact: Fact) -> Any:
        evidence = self._probed(node.name, fact.probe)
        if evidence.failure:
            return NotMeasured(evidence.failure.message)
        if fact.whole:
            return fact.build(evidence.answers, self._profiles[node.profile], node)
        answer = evidence.answers.get(fact.collector)
        if answer is None:
            return NotMeasured(f"{node.name}: {fact.collector} was not gathered")
        if not answer.ok:
            return NotMeasured(f"{node.name}: {fact.collector}: {answer.error}")
        data = {**answer.data, "asked": asked(evidence)} if fact.timed else answer.data
        return fact.build(data, self._profiles[node.profile], node)

    def _probed(self, node: str, probe: str) -> Evidence:
        if probe not in self._evidence:
            self._evidence[probe] = evidence = self._source.evidence(node, probe)
            self.serials[node] = machine_serial(evidence) or self.serials.get(node, "")
            self.parts.setdefault(node, {}).update({part.label: part for part in installed(evidence.answers)})
            if evidence.failure and (node not in self.failures or probe == FIRST_PROBE):
                self.failures[node] = evidence.failure
        return self._evidence[probe]

    def boot_id(self, node: str) -> str:
        """The boot id of the node whose facts are at hand, or empty."""
        answers = [each.answers["system"] for each in self._evidence.values() if "system" in each.answers]
        return str(answers[0].data.get("boot_id", ""))[:64] if answers and node == self._node else ""
