"""One fleet run from plan to verdict: what the pytest hooks call, free of pytest. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

from fleetcheck import __version__, exitcode, plan, run, verdict
from fleetcheck import inventory as inventories
from fleetcheck.absent import NotMeasured
from fleetcheck.facts.clock import asked
from fleetcheck.facts.registry import Fact
from fleetcheck.gather import Gathering, Recorded, missing
from fleetcheck.inventory import Inventory, Node
from fleetcheck.journal import Journal
from fleetcheck.observed import machine_serial
from fleetcheck.progress import Progress
from fleetcheck.records import Evidence, Failure, Planned, Result
from fleetcheck.report import junit, terminal


@dataclass(frozen=True)
class Settings:
    """What the command line asked for."""

    inventory: str = ""
    nodes: str = ""
    group: str = ""
    tier: str = "quick"
    replay: str = ""
    resume: str = ""
    reports: Path = Path("reports")
    connections: int = 32

    @property
    def fleet(self) -> bool:
        """Whether this is a fleet run at all."""
        return bool(self.inventory or self.replay or self.resume)


@dataclass
class Fleet:
    """The state of one run. Built by ``open_fleet``; ``begin`` starts it, ``finish`` judges it, ``close`` ends every thread."""

    settings: Settings
    inventory: Inventory
    selected: tuple[Node, ...]
    earlier: run.Run | None = None
    run: run.Run | None = None
    planned: dict[str, Planned] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    failures: dict[str, Failure] = field(default_factory=dict)
    serials: dict[str, str] = field(default_factory=dict)
    narrowed: str = ""
    source: Gathering | Recorded | None = None
    journal: Journal | None = None
    progress: Progress | None = None
    verdicts: dict[str, Any] | None = None
    sandbox: Any = None
    started: str = ""
    _current: tuple[str, dict[str, Any]] = ("", {})

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The selected nodes that are in service: those that are contacted."""
        return tuple(node for node in self.selected if node.in_service)

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """The selected nodes by name."""
        return {node.name: node for node in self.selected}

    def place(self) -> str:
        """Make the run's directory; its id. Raises RunError."""
        self.started = _now()
        self.run = self._place()
        return self.run.id

    def begin(self, planned: Sequence[Planned], collectors: Mapping[str, Mapping[str, set[str]]], narrowed: str,
              screen: TextIO | None) -> None:
        """Write the plan, then start gathering. Raises RunError, InventoryError or SandboxError."""
        assert self.run is not None
        self.narrowed = narrowed
        run.keep_inventory(self.run, self.inventory)
        self.run.describe(self._about())
        self.planned = {each.nodeid: each for each in planned}
        self._write_plan()
        self.journal = Journal(self.run.results)
        self.progress = Progress(_items_per_node(planned), self.run.path / "progress.log", screen)
        self.source = self._evidence_source(collectors)

    def _place(self) -> run.Run:
        if self.settings.resume and self.earlier:
            for stale in (self.earlier.plan, self.earlier.results, self.earlier.verdicts):
                stale.unlink(missing_ok=True)
            return self.earlier
        return run.create(self.settings.reports)

    def _about(self) -> dict[str, Any]:
        return {
            "schema": 1, "run": self.run.id if self.run else "", "fleet": self.inventory.fleet, "tier": self.settings.tier,
            "started": self.started, "version": __version__, "inventory": self.inventory.path.name,
            "inventory_path": str(self.inventory.path.resolve()), "nodes": self.settings.nodes, "group": self.settings.group,
            "narrowed": self.narrowed, "replay_of": self.earlier.id if self.earlier and self.settings.replay else "",
            "connections": self.settings.connections, "expired_waivers": self.inventory.expired(),
        }

    def _write_plan(self) -> None:
        assert self.run is not None
        journal = Journal(self.run.plan)
        for each in self.planned.values():
            journal.append(each)
        journal.close()

    def _evidence_source(self, collectors: Mapping[str, Mapping[str, set[str]]]) -> Gathering | Recorded:
        assert self.run is not None
        if self.settings.replay and self.earlier:
            run.adopt_evidence(self.run, self.earlier)
            return Recorded(self.run.evidence)
        reachable = self._with_sandbox()
        wanted = plan.requests(self.run.id, reachable, collectors)
        kept = {key: offset for key, offset in Recorded(self.run.evidence).offsets.items()} if self.run.evidence.exists() else {}
        return self._gather(missing(wanted, kept), kept)

    def _gather(self, wanted: Sequence[tuple[Node, Any]], kept: Mapping[tuple[str, str], int]) -> Gathering:
        from fleetcheck.exchange import Exchange  # imports paramiko: only a live run pays for it

        assert self.run is not None and self.progress is not None
        gathering = Gathering(Exchange(log=self.run.path / "gather.log"), Journal(self.run.evidence), self.settings.connections, self.progress.tick)
        gathering.kept = dict(kept)
        gathering.start(wanted)
        return gathering

    def _with_sandbox(self) -> Inventory:
        if not self.inventory.sandbox:
            return self.inventory
        from fleetcheck import sandbox

        self.sandbox = sandbox.start(self.inventory)
        reachable: Inventory = self.sandbox.inventory
        return reachable

    def evidence(self, node: str, probe: str) -> Evidence:
        """One probe's evidence, waiting for it. Raises NotMeasured when there is none, RunError when the disk is full."""
        if self.source is None:
            raise NotMeasured(f"{node}: {probe} was not gathered")
        return self.source.evidence(node, probe)

    def fact(self, node: Node, fact: Fact) -> Any:
        """The view a check asks for. Raises NotMeasured saying why there is none."""
        name, built = self._current
        if name != node.name:
            built = {}
            self._current = (node.name, built)
        if fact.name not in built:
            built[fact.name] = self._built(node, fact)
        if isinstance(built[fact.name], NotMeasured):
            raise NotMeasured(str(built[fact.name]))
        return built[fact.name]

    def _built(self, node: Node, fact: Fact) -> Any:
        key = f"evidence {fact.probe}"
        cached = self._current[1]
        if key not in cached:
            cached[key] = self._gathered(node, fact.probe)
        evidence: Evidence = cached[key]
        if evidence.failure:
            return NotMeasured(evidence.failure.message)
        answer = evidence.answers.get(fact.collector)
        if answer is None:
            return NotMeasured(f"{node.name}: {fact.collector} gave no answer")
        if not answer.ok:
            return NotMeasured(f"{node.name}: {fact.collector}: {answer.error}")
        data = {**answer.data, "asked": asked(evidence)} if fact.timed else answer.data
        return fact.build(data, self.inventory.profiles[node.profile], node)

    def _gathered(self, node: Node, probe: str) -> Evidence:
        evidence = self.evidence(node.name, probe)
        self.serials[node.name] = machine_serial(evidence) or self.serials.get(node.name, "")
        if evidence.failure and (node.name not in self.failures or probe == "facts-fast"):
            self.failures[node.name] = evidence.failure
        return evidence

    def boot_id(self, node: str) -> str:
        """The boot id of the node whose facts are at hand, or empty."""
        name, built = self._current
        if name != node:
            return ""
        for key, evidence in built.items():
            if key.startswith("evidence ") and "system" in evidence.answers:
                return str(evidence.answers["system"].data.get("boot_id", ""))[:64]
        return ""

    def record(self, result: Result) -> None:
        """Keep one result, on disk first."""
        assert self.journal is not None and self.progress is not None
        self.journal.append(result)
        self.results.append(result)
        self.progress.item(result.node, result.outcome)

    def finish(self, interrupted: bool) -> dict[str, Any]:
        """Judge what was recorded and write verdicts.json, then point latest here."""
        assert self.run is not None
        if self.progress:
            self.progress.end()
        info = verdict.RunInfo(
            run=self.run.id, fleet=self.inventory.fleet, tier=self.settings.tier, started=self.started, narrowed=self.narrowed,
            interrupted=interrupted, replay_of=self._about()["replay_of"], expired=tuple(self.inventory.expired()),
        )
        self.verdicts = verdict.judge(info, self.selected, list(self.planned.values()), self.results, self.failures,
                                      serials=self.serials, required=verdict.demanded(self.inventory.profiles, self.settings.tier))
        run.write_atomically(self.run.verdicts, run.as_json(self.verdicts))
        self.run.describe({**self._about(), "ended": _now(), "interrupted": interrupted, "complete": self.verdicts["complete"]})
        run.point_latest(self.run)
        return self.verdicts

    def write_reports(self) -> None:
        """junit.xml, from what was judged."""
        assert self.run is not None and self.verdicts is not None
        junit.write(self.run.path, self.verdicts, self.results, self.selected)

    def summary(self) -> str:
        """The page for the terminal."""
        assert self.run is not None and self.verdicts is not None
        return terminal.summary(self.verdicts, self.results, self.selected, self.run.path, str(self.inventory.path))

    def exit_code(self, interrupted: bool) -> int:
        """The run's exit code once judged."""
        return exitcode.exit_code(self.verdicts or {}, self.results, interrupted=interrupted)

    def stop_gathering(self) -> None:
        """End every connection; what was gathered stays readable on disk."""
        if self.source is not None:
            self.source.close()

    def close(self) -> None:
        """End threads, connections and the sandbox; safe to call twice."""
        self.stop_gathering()
        if self.journal is not None:
            self.journal.close()
        if self.sandbox is not None:
            self.sandbox.stop()
        self.source = self.journal = self.sandbox = None


def open_fleet(settings: Settings) -> Fleet:
    """Load inventory and earlier run. Raises InventoryError or RunError; nothing is contacted and nothing written."""
    name = settings.replay or settings.resume
    earlier = run.find(settings.reports, name) if name else None
    if settings.inventory:
        loaded = inventories.load(Path(settings.inventory))
    else:
        assert earlier is not None
        loaded = earlier.inventory()
    selected = inventories.select(loaded, settings.nodes, settings.group)
    return Fleet(settings=settings, inventory=loaded, selected=selected, earlier=earlier)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _items_per_node(planned: Sequence[Planned]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in planned:
        counts[each.node] = counts.get(each.node, 0) + 1
    return counts
