"""From a planned trial to ranks on its members and back. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from fleetcheck.collective import talk
from fleetcheck.collective.aside import aside
from fleetcheck.collective.bench import Bench
from fleetcheck.collective.campaign.benches import benches, most_bytes
from fleetcheck.collective.campaign.ran import Ran
from fleetcheck.collective.launcher import Ports, Terms, run_trial
from fleetcheck.collective.members import Ready
from fleetcheck.collective.rounds import Planned
from fleetcheck.collective.trial import WITHOUT_NVLS
from fleetcheck.gather import Asks
from fleetcheck.inventory import Inventory, Node

NVLS = "NCCL_NVLS_ENABLE"
"""0: NCCL uses no NVLink SHARP. It is read once a process, so ranks of their own are started for it."""


def stand_in(node: Node, inventory: Inventory) -> bool:
    """Whether processors take the place of accelerators that the profile promises."""
    return inventory.profiles[node.profile].gpu is not None and talk.device(node) == "cpu"


@dataclass
class Ranks:
    """Launches trials of nodes of one kind over an exchange of its own, so that ending them ends nothing else."""

    exchange: Asks
    nodes: Mapping[str, Node]
    ready: Mapping[str, Ready]
    terms: Terms
    mode: str
    on: str
    ports: Ports = field(init=False)

    def __post_init__(self) -> None:
        self.ports = Ports(self.terms.ports)

    def run(self, planned: Planned, number: int, name: str) -> Ran:
        """One trial; what nodes refuse, and trouble on this side, is no trial."""
        terms = self.terms
        if planned.kind == WITHOUT_NVLS:
            terms = replace(terms, environment={**terms.environment, NVLS: "0"})
        done = run_trial(self.exchange, planned, self.nodes, self.chosen(planned), terms, id_=name, round_=number, ready=self.ready,
                         ports=self.ports)
        told = {each.node: aside(each) for each in done.evidence}
        lost = {node: failure.message for node, failure in done.run.refused.items()}
        return Ran(done.run.trial, "; ".join(lost.values())[:2000], lost, told)

    def chosen(self, planned: Planned) -> tuple[Bench, ...]:
        """The collectives of this trial."""
        most = most_bytes([talk.most_bytes(self.nodes[name]) for name in planned.members])
        return benches(planned.kind, len(planned.members), self.mode, self.on, most)

    def close(self) -> None:
        """End every trial in flight."""
        self.exchange.close()


@dataclass
class Kinds:
    """One launcher for all: each trial goes to that of its members."""

    of: Sequence[Ranks]

    def run(self, planned: Planned, number: int, name: str) -> Ran:
        """One trial, by the launcher that knows its members."""
        return next(each for each in self.of if planned.members[0] in each.ready).run(planned, number, name)

    def close(self) -> None:
        """End every trial in flight."""
        for each in self.of:
            each.close()
