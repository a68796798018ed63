"""``metrics.prom``: verdicts, outcomes and key measurements in the text form that Prometheus reads. Pure.

Series are bounded: a node has one of each metric (of matrix products one a dtype, of bus bandwidth one a collective), a check at most
one a severity. Labels are names from the inventory, the check files and the lists here; nothing that a node told becomes one.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from fleetcheck.records import OUTCOMES
from fleetcheck.report.key_measurements import KEYS, Key
from fleetcheck.standing import Ran
from fleetcheck.verdict import VERDICTS

FLEET_FINDINGS = ("common-cause", "login", "place", "fleet-check")
PREFIX, NODE = "fleetcheck_", "fleetcheck_node_"
Sample = tuple[Mapping[str, str], float]
Measured = Mapping[str, Mapping[Key, float]]
"""By node, the key measurements."""


@dataclass(frozen=True)
class Shown:
    """What the metrics say. newest: the run they begin with; nodes: name → its entry of verdicts.json; judged: name → when the run that
    counts for it ended; findings: about the fleet; floor: how many nodes must be healthy, where the inventory says so; silenced: nodes
    whose silence is such a finding."""

    newest: Ran
    nodes: Mapping[str, Mapping[str, Any]]
    judged: Mapping[str, str] = field(default_factory=dict)
    last_complete: Ran | None = None
    findings: Sequence[Mapping[str, Any]] = ()
    measured: Measured = field(default_factory=dict)
    floor: int | None = None
    silenced: frozenset[str] = frozenset()

    @property
    def serving(self) -> dict[str, Mapping[str, Any]]:
        """The nodes in service."""
        return {name: node for name, node in self.nodes.items() if node["state"] == "in-service"}


def of_run(run: Ran, measured: Measured, floor: int | None = None) -> Shown:
    """One run by itself."""
    nodes, findings = run.verdicts["nodes"], run.verdicts["fleet_findings"]
    return Shown(run, nodes, dict.fromkeys(nodes, run.ended), run if run.completes else None, findings, measured, floor,
                 run.silenced)


def text(shown: Shown) -> str:
    """The file's content."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Families([_family(*each, shown) for each in _families(shown)]))
    return generate_latest(registry).decode()


class _Families(Collector):
    """Families as they are, in their order."""

    def __init__(self, families: Sequence[GaugeMetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterable[GaugeMetricFamily]:
        return self._families


def _family(name: str, says: str, samples: Iterable[Sample], shown: Shown) -> GaugeMetricFamily:
    made = GaugeMetricFamily(name, says)
    verdicts = shown.newest.verdicts
    for labels, value in samples:
        made.add_sample(name, {"fleet": verdicts["fleet"], "tier": verdicts["tier"], **labels}, value)
    return made


def _families(shown: Shown) -> Iterator[tuple[str, str, Iterable[Sample]]]:
    yield from _about_the_run(shown)
    yield from _about_the_fleet(shown)
    yield from _about_nodes(shown)
    for name, keys in _by_name().items():
        yield f"{NODE}{name}", keys[0].says, _measured(keys, shown)


def _about_the_run(shown: Shown) -> Iterator[tuple[str, str, Iterable[Sample]]]:
    run, last = shown.newest, shown.last_complete
    verdicts = run.verdicts
    yield f"{PREFIX}run_info", "The newest run", [({"run": verdicts["run"]}, 1)]
    yield f"{PREFIX}run_complete", "Whether the newest run was complete", [({}, int(verdicts["complete"]))]
    yield f"{PREFIX}run_started_timestamp_seconds", "When the newest run began", _at(verdicts["started"])
    yield f"{PREFIX}run_ended_timestamp_seconds", "When the newest run ended", _at(run.ended)
    yield (f"{PREFIX}last_complete_run_timestamp_seconds", "When the last complete run of the whole fleet ended",
           _at(last.ended) if last else [])
    outcomes = verdicts["counts"]["items"]
    yield f"{PREFIX}run_items", "Checks of the newest run by outcome", [({"outcome": word}, outcomes[word]) for word in OUTCOMES]


def _about_the_fleet(shown: Shown) -> Iterator[tuple[str, str, Iterable[Sample]]]:
    verdicts = Counter(node["verdict"] for node in shown.serving.values())
    kinds = Counter(each["kind"] for each in shown.findings)
    yield f"{PREFIX}nodes", "Nodes in service by verdict", [({"verdict": word}, verdicts[word]) for word in VERDICTS]
    yield f"{PREFIX}nodes_certified", "Nodes certified for the tier", [({}, sum(node["certified"] for node in shown.serving.values()))]
    yield f"{PREFIX}nodes_out_of_service", "Nodes listed and not contacted", [({}, len(shown.nodes) - len(shown.serving))]
    yield f"{PREFIX}capacity_floor_nodes", "Healthy nodes the inventory demands", [({}, shown.floor)] if shown.floor is not None else []
    yield f"{PREFIX}fleet_findings", "Findings that blame no node", [({"kind": kind}, kinds[kind]) for kind in FLEET_FINDINGS]
    yield f"{PREFIX}check_failed_nodes", "Nodes on which a check failed", _failed(shown)


def _failed(shown: Shown) -> list[Sample]:
    found = Counter((each["check"], each["component"], each["severity"]) for node in shown.serving.values() for each in node["findings"])
    return [({"check": check, "component": component, "severity": severity}, count)
            for (check, component, severity), count in sorted(found.items())]


def _about_nodes(shown: Shown) -> Iterator[tuple[str, str, Iterable[Sample]]]:
    nodes = shown.serving.items()
    yield (f"{NODE}verdict", "1 for the verdict that stands: failed, unreachable, degraded, unknown or healthy",
           [({"node": name, "verdict": node["verdict"], "action": node["action"]}, 1) for name, node in nodes])
    yield (f"{NODE}certified", "Whether the node is certified for the tier",
           [({"node": name}, int(node["certified"])) for name, node in nodes])
    yield (f"{NODE}silence_shared", "1 for a node whose silence is one finding about the login of many or a place that is down",
           [({"node": name}, 1) for name, _ in nodes if name in shown.silenced])
    yield f"{NODE}findings", "Failed checks of the node by severity", _findings(shown)
    covered = [(name, node["coverage"]) for name, node in nodes]
    yield (f"{NODE}measured_ratio", "Share of the node's planned checks that were measured",
           [({"node": name}, each["measured"] / each["planned"]) for name, each in covered if each["planned"]])
    yield (f"{NODE}judged_timestamp_seconds", "When the run that counts for the node ended",
           [({"node": name}, value) for name, _ in nodes for _, value in _at(shown.judged.get(name, ""))])


def _findings(shown: Shown) -> Iterator[Sample]:
    for name, node in shown.serving.items():
        for severity, count in sorted(Counter(each["severity"] for each in node["findings"]).items()):
            yield {"node": name, "severity": severity}, count


def _by_name() -> dict[str, list[Key]]:
    names: dict[str, list[Key]] = {}
    for key in KEYS:
        names.setdefault(key.name, []).append(key)
    return names


def _measured(keys: Sequence[Key], shown: Shown) -> Iterator[Sample]:
    for name in shown.serving:
        told = shown.measured.get(name, {})
        for key in keys:
            if key in told:
                yield {"node": name, **key.labels}, told[key]


def _at(moment: str) -> list[Sample]:
    """A time in ISO form as seconds since 1970; none where it is not known."""
    try:
        return [({}, datetime.datetime.fromisoformat(moment).timestamp())]
    except ValueError:
        return []


def measured_in(told: str) -> dict[str, dict[Key, float]]:
    """The key measurements of an earlier file of ours. Raises ValueError where it is none."""
    known = {(f"{NODE}{key.name}", key.label): key for key in KEYS}
    further = {name for key in KEYS for name in key.labels}
    found: dict[str, dict[Key, float]] = {}
    for family in text_string_to_metric_families(told):
        for sample in family.samples:
            key = known.get((sample.name, tuple((name, sample.labels[name]) for name in further & sample.labels.keys())))
            if key:
                found.setdefault(sample.labels["node"], {})[key] = sample.value
    return found
