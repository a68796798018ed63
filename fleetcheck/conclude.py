"""What a run shows beside its peers and earlier runs: nodes below their cohort, odd settings, exchanged parts. Runs on the controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetcheck import consistency, exchanged, outliers
from fleetcheck.exchanged import Place
from fleetcheck.history import History
from fleetcheck.inventory import Inventory, Node, fold
from fleetcheck.measured import INSTALLED, Machine, installed_rows, numbers_of, result_rows, words_of
from fleetcheck.measurements import Draft
from fleetcheck.outliers import Below, Sample
from fleetcheck.past import NO_PAST, Past
from fleetcheck.records import Result
from fleetcheck.remembered import remembered
from fleetcheck.run import Run, RunError

BELOW = "below_its_peers"
"""The name under which such a finding stands in verdicts and history."""
POWER_CAP = "gpu.power.enforced_limit_watts"
LOOKED_BACK_DAYS = 60
_LATEST = f"""
SELECT node, part_kind, slot, arg_max(serial, run) AS serial FROM m WHERE metric = '{INSTALLED}' GROUP BY ALL"""
_EARLIER = f"""
WITH runs AS (SELECT DISTINCT node, metric, run FROM m
              WHERE metric IN (SELECT unnest($metrics)) AND node IN (SELECT unnest($nodes)) AND "check" <> '{BELOW}'),
     below AS (SELECT DISTINCT node, metric, run FROM m WHERE "check" = '{BELOW}')
SELECT r.node, r.metric, b.run IS NOT NULL AS below FROM runs r LEFT JOIN below b USING (node, metric, run)
QUALIFY row_number() OVER (PARTITION BY r.node, r.metric ORDER BY r.run DESC) < {outliers.OF_RUNS} ORDER BY r.run DESC"""


@dataclass
class Conclusions:
    """Findings about nodes (``concluded``), what is only said (``observations``) and what earlier runs found (``past``), as
    ``verdict.judge`` takes them."""

    concluded: list[Result] = field(default_factory=list)
    observations: list[dict[str, Any]] = field(default_factory=list)
    past: Past = NO_PAST


@dataclass
class Seen:
    """What comparing takes of the results, gathered while they pass by."""

    samples: list[tuple[str, str, str, float]] = field(default_factory=list)
    power: dict[str, float] = field(default_factory=dict)
    told: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)

    def watched(self, results: Iterable[Result]) -> Iterator[Result]:
        """The same results."""
        for result in results:
            if result.node and result.metrics:
                self._note(result)
            yield result

    def _note(self, result: Result) -> None:
        """Most metrics are of no concern here, which their names say."""
        for metric, value in result.metrics.items():
            if outliers.is_rate(metric):
                self.samples += [(result.node, metric, label, number) for label, number in numbers_of(value)]
            elif metric == POWER_CAP:
                for _, number in numbers_of(value):
                    self.power[result.node] = min(number, self.power.get(result.node, number))
            elif metric in consistency.SETTINGS and (said := words_of(value)):
                nodes = self.told.setdefault(metric, {})
                nodes[result.node] = nodes.get(result.node, frozenset()) | said


def conclude(run: Run, draft: Draft, results: Iterable[Result], machines: Mapping[str, Machine], nodes: Sequence[Node],
             inventory: Inventory) -> Conclusions:
    """Fill the draft with the run's rows, and say what comparing shows. Raises RunError when the disk refuses."""
    seen = Seen()
    for name, machine in machines.items():
        draft.add(installed_rows(name, machine))
    draft.add(result_rows(seen.watched(results), machines))
    with History(run.path.parent, before=str(run.facts.get("replay_of") or run.id), days=LOOKED_BACK_DAYS) as history:
        found = _compared(run, seen, machines, nodes, history)
        found.past = _past(inventory, machines, history)
        found.observations += [_said("history", (), line) for line in history.skipped]
    found.observations += _odd(seen, nodes, inventory)
    draft.add(result_rows(found.concluded, machines))
    found.concluded = [each for each in found.concluded if each.severity == "degraded"]
    return found


def _compared(run: Run, seen: Seen, machines: Mapping[str, Machine], nodes: Sequence[Node], history: History) -> Conclusions:
    """A history that cannot be read costs no verdict: it is said."""
    try:
        found = _peers(run, seen, machines, nodes, history)
        found.observations += _exchanged(machines, history)
    except RunError as error:
        return Conclusions([], [_said("history", (), str(error))])
    return found


def _past(inventory: Inventory, machines: Mapping[str, Machine], history: History) -> Past:
    """A history that cannot be read leaves this run alone to judge by, and the verdicts say so."""
    try:
        return remembered(history, inventory, machines)
    except RunError as error:
        return Past(damaged=(str(error),))


def cohort(node: Node, power: Mapping[str, float]) -> str:
    """Nodes built, cooled and capped alike: the profile, the label ``cooling``, and the least power limit of its GPUs."""
    cap = node.labels.get("power_cap", "") or (f"{power[node.name]:.0f} W" if node.name in power else "")
    return ", ".join(filter(None, [node.profile, node.labels.get("cooling", ""), cap]))


def _peers(run: Run, seen: Seen, machines: Mapping[str, Machine], nodes: Sequence[Node], history: History) -> Conclusions:
    cohorts = {node.name: cohort(node, seen.power) for node in nodes}
    told = outliers.once(metric for _, metric, _, _ in seen.samples)
    samples = (Sample(node, cohorts[node], metric, value, label) for node, metric, label, value in seen.samples
               if node in cohorts and metric in told)
    below, splits = outliers.compare(outliers.worst(samples))
    earlier = _earlier(below, history)
    found = Conclusions()
    for each in below:
        before = earlier.get((each.sample.node, each.sample.metric), [])
        again = outliers.repeats(before)
        found.concluded.append(_finding(run, each, machines, again, before))
        if not again:
            found.observations.append(_said("below-peers", (each.sample.node,), f"{each}; no finding before it is so in {outliers.REPEATS} "
                                            f"of {outliers.OF_RUNS} runs, now {1 + sum(before)}"))
    found.observations += [_said("two-kinds", each.nodes, str(each)) for each in splits]
    return found


def _earlier(below: Sequence[Below], history: History) -> dict[tuple[str, str], list[bool]]:
    """By node and metric, whether it was below in the runs before that measured it, the newest first."""
    if not below:
        return {}
    told = {"metrics": sorted({each.sample.metric for each in below}), "nodes": sorted({each.sample.node for each in below})}
    found: dict[tuple[str, str], list[bool]] = {}
    for row in history.ask(_EARLIER, told):
        found.setdefault((row["node"], row["metric"]), []).append(row["below"])
    return found


def _finding(run: Run, below: Below, machines: Mapping[str, Machine], again: bool, before: Sequence[bool]) -> Result:
    sample = below.sample
    part = machines.get(sample.node, Machine()).part(sample.part)
    parts = ({"kind": part.kind or "part", "label": part.label, "slot": part.slot, "serial": part.serial},) if sample.part else ()
    repeated = f"; below in {1 + sum(before)} of the last {1 + len(before)} runs" if again else ""
    return Result(
        run=run.id, stage="peers", check=BELOW, component="peers", node=sample.node, outcome="failed",
        severity="degraded" if again else "warn", action="isolate" if again else "observe", message=f"{below}{repeated}", parts=parts,
        metrics={sample.metric: {sample.part: sample.value} if sample.part else sample.value},
        bound={"low": below.limit, "high": None, "unit": ""}, source=f"median and spread of {below.of} peers", causes=(sample.metric,),
    )


def _odd(seen: Seen, nodes: Sequence[Node], inventory: Inventory) -> list[dict[str, Any]]:
    allowed: dict[tuple[str, str], frozenset[str]] = {}
    for name, profile in inventory.profiles.items():
        for bundle in profile.bundles:
            if bundle.current(inventory.today):
                for word in filter(None, consistency.SETTINGS.values()):
                    value = getattr(bundle, word)
                    held = {value} if isinstance(value, str) and value else set(value or ())
                    allowed[name, word] = allowed.get((name, word), frozenset()) | held
    profiles = {node.name: node.profile for node in nodes}
    return [_said("inconsistent", each.nodes, str(each)) for each in consistency.odd(seen.told, profiles, allowed)]


def _exchanged(machines: Mapping[str, Machine], history: History) -> list[dict[str, Any]]:
    now = {Place(node, part.kind, part.slot): part.serial for node, machine in machines.items() for part in machine.parts.values()}
    now |= {Place(node, exchanged.CHASSIS, "machine"): machine.serial for node, machine in machines.items()}
    before = {Place(row["node"], row["part_kind"], row["slot"]): row["serial"] for row in history.ask(_LATEST)}
    return [_said(each.kind, each.nodes, each.message) for each in exchanged.exchanges(now, before)]


def _said(kind: str, nodes: Iterable[str], message: str) -> dict[str, Any]:
    return {"kind": kind, "nodes": fold(nodes), "message": message}
