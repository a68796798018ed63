"""What trials say of the link between two nodes: its bandwidth, and whether it is to blame. Runs on the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleetcheck.absent import NotMeasured
from fleetcheck.collective.campaign.limits import op, size_of, what
from fleetcheck.collective.finding import Finding
from fleetcheck.collective.trial import Trial
from fleetcheck.facts.section import Section
from fleetcheck.groups import blamed
from fleetcheck.inventory import Node
from fleetcheck.recording import Offender

if TYPE_CHECKING:
    from fleetcheck.facts.interconnect import Kind

SHOWN = ("all_reduce", "send_recv", "all_to_all")
"""Collectives whose bandwidth stands for a pair, the first that was measured."""


class Link(Section):
    """The link between two nodes."""

    __slots__ = ("kind", "names", "trials")

    def __init__(self, one: Node, two: Node, kind: Kind) -> None:
        super().__init__({}, "pair")
        self.kind = kind
        self.names = (one.name, two.name)
        self.trials: list[Trial] = [trial for trial in kind.trials if set(trial.members) == set(self.names)]
        if not self.trials:
            self._unmeasured()

    def faults(self) -> list[Offender]:
        """Findings that the link, or one rail of it, is at fault. Both ends are named, neither is blamed.

        Raises NotMeasured when its trials failed and somebody else is blamed for that, or nobody: then for the sake of both.
        """
        self._bandwidth()
        mine = [each for each in self.kind.findings if each.blames and set(each.members) == set(self.names) and len(each.members) == 2
                and each.kind in ("link", "rail")]
        if not mine and not any(self._well(trial) for trial in self.trials):
            self._explained()
        return blamed([Offender(None, f"{' and '.join(self.names)}: {each.symptom}: {each.message}; confidence {each.confidence:.2f}",
                                nodes=self.names) for each in mine])

    def _well(self, trial: Trial) -> bool:
        pace = self.kind.paces.get(trial.id)
        return trial.outcome == "ok" and not (pace and pace.slow)

    def _bandwidth(self) -> None:
        """Note the lowest bus bandwidth of its trials at the largest size."""
        for name in SHOWN:
            found = [value for trial in self.trials for value in trial.values
                     if op(value.metric) == name and what(value.metric) == "busbw_gb_s" and not value.rail]
            if found:
                largest = max(size_of(value.metric) for value in found)
                self.derived(f"{name}_busbw_gb_s", round(min(value.number for value in found if size_of(value.metric) == largest), 4))
                return

    def _explained(self) -> None:
        """Its trials failed, and not because of the link."""
        culprits = [each for each in self.kind.findings if each.blames and set(each.members) & set(self.names)]
        nodes = {node for each in culprits for node in each.members if node in self.names}
        said = self.trials[-1].message or self.trials[-1].outcome
        if culprits:
            raise NotMeasured(f"{' and '.join(self.names)} were not well together; that is put down to {_who(culprits[0])}", nodes)
        raise NotMeasured(f"{' and '.join(self.names)} were not well together ({said:.300}), and nobody is blamed for it", self.names)

    def _unmeasured(self) -> None:
        """No trial of theirs was run."""
        kept = [each for each in self.kind.kept if set(each.members) == set(self.names)]
        lost = {node: why for each in kept for node, why in each.lost.items()}
        why = "; ".join(lost.values()) or next((each.not_run for each in kept if each.not_run), "") or self.kind.begun.ended
        raise NotMeasured(f"{' and '.join(self.names)} were not tried with each other{': ' + why if why else ''}", lost or self.names)


def _who(finding: Finding) -> str:
    """A culprit in words."""
    where = f"{finding.label} {finding.name}" if finding.kind == "switch" else " and ".join(finding.members)
    return f"{'rail ' + finding.rail + ' of ' if finding.rail else ''}{where or finding.message} ({finding.symptom})"
