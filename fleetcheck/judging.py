"""From what a run recorded to its verdicts and its rows of history: for a run that ends, and for one judged again.

Runs on the controller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from fleetcheck.acceptance import ledger, limits
from fleetcheck.conclude import conclude
from fleetcheck.inventory import Inventory, Node
from fleetcheck.measured import Machine
from fleetcheck.measurements import Draft
from fleetcheck.records import Failure, Planned, Result
from fleetcheck.remembered import kept_rows
from fleetcheck.report.key_measurements import KeyMeasurements
from fleetcheck.run import Run, as_json, disk, write_atomically
from fleetcheck.verdict import RunInfo, demanded, judge


@dataclass(frozen=True)
class Recorded:
    """What a run left to be judged by.

    told: the content of run.json; nodes: those selected, out of service too; failures: by node, why it brought no answer;
    machines: by node, what stands there.
    """

    run: Run
    told: Mapping[str, Any]
    inventory: Inventory
    nodes: Sequence[Node]
    planned: Sequence[Planned]
    results: Sequence[Result]
    failures: Mapping[str, Failure]
    machines: Mapping[str, Machine]

    @property
    def counts(self) -> bool:
        """Whether its measurements are history: what was measured once counts once, so a replay's and a shard's are not."""
        return not (self.told.get("replay_of") or self.told.get("shard"))

    def info(self) -> RunInfo:
        """The run as verdicts tell it. One that never ended was interrupted."""
        told = self.told
        return RunInfo(
            run=self.run.id, fleet=self.inventory.fleet, tier=told.get("tier", ""), started=told.get("started", ""),
            narrowed=told.get("narrowed", ""), interrupted=told.get("interrupted", "ended" not in told),
            replay_of=told.get("replay_of", ""), expired=tuple(told.get("expired_waivers", ())),
            limits=limits.fingerprint(self.inventory, self.nodes),
        )


@contextmanager
def judged(recorded: Recorded, key: KeyMeasurements) -> Iterator[dict[str, Any]]:
    """The content of verdicts.json, which is written; on leaving, the run's rows become history. Raises RunError when the disk refuses.

    key: takes the key measurements while results pass by.
    """
    run, info = recorded.run, recorded.info()
    with Draft(run) as draft:
        verdicts = _verdicts(recorded, info, draft, key)
        with disk(run.verdicts):
            write_atomically(run.verdicts, as_json(verdicts))
        yield verdicts
        if recorded.counts:
            draft.add(kept_rows(verdicts, recorded.machines))
            draft.keep({"fleet": info.fleet, "tier": info.tier, "started": info.started}, verdicts["complete"])


def _verdicts(recorded: Recorded, info: RunInfo, draft: Draft, key: KeyMeasurements) -> dict[str, Any]:
    run, nodes, inventory = recorded.run, recorded.nodes, recorded.inventory
    found = conclude(run, draft, key.watched(run.judged()), recorded.machines, nodes, inventory)
    return judge(
        info, nodes, recorded.planned, recorded.results, recorded.failures,
        serials={name: each.serial for name, each in recorded.machines.items() if each.serial},
        required=demanded(inventory.profiles, info.tier), concluded=found.concluded, observations=found.observations,
        accepted=ledger.accepted(run, recorded.told, info.limits, nodes, inventory),
        past=found.past, repeats=inventory.repeats,
    )
