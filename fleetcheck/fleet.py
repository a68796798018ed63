"""One fleet run from plan to verdict: what the pytest hooks call, free of pytest. Runs on the controller."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from fleetcheck import __version__, exitcode, plan, rejudge, run, shards, sources
from fleetcheck.absent import NotMeasured
from fleetcheck.at_hand import FactsAtHand, Source
from fleetcheck.burnin import begin, clock
from fleetcheck.burnin.terms import Asked, Terms, settle
from fleetcheck.collective.campaign import preflight
from fleetcheck.collective.campaign import terms as campaign
from fleetcheck.collective.campaign.pairs import pair_groups
from fleetcheck.collective.campaign.record import recorded
from fleetcheck.facts.interconnect import Interconnect
from fleetcheck.facts.registry import PAIRS, Fact
from fleetcheck.gather import silent
from fleetcheck.groups import Group
from fleetcheck.inventory import Inventory, Node
from fleetcheck.journal import Journal
from fleetcheck.judging import Recorded, judged
from fleetcheck.lock import FleetLock
from fleetcheck.measured import Machine
from fleetcheck.progress import Progress
from fleetcheck.records import Planned, Result
from fleetcheck.report import earlier, html, junit, terminal, textfile
from fleetcheck.report.changes import Comparison
from fleetcheck.report.key_measurements import KeyMeasurements
from fleetcheck.run import Run
from fleetcheck.settings import Settings

if TYPE_CHECKING:
    from fleetcheck.collective.campaign.begin import Together

Collectors = Mapping[str, Mapping[str, set[str]]]
"""{node: {probe: collectors}}."""


@dataclass
class Fleet:
    """The state of one run. ``place`` and ``begin`` start it, ``finish`` judges it, ``close`` ends every thread.

    shards: the runs that it joins.
    """

    settings: Settings
    inventory: Inventory
    selected: tuple[Node, ...]
    origin: Path
    earlier: run.Run | None = None
    run: run.Run | None = None
    planned: dict[str, Planned] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    narrowed: str = ""
    source: Source | None = None
    hand: FactsAtHand | None = None
    journal: Journal | None = None
    progress: Progress | None = None
    verdicts: dict[str, Any] | None = None
    started: str = ""
    until: datetime.datetime | None = None
    together: Together | None = None
    lock: FleetLock | None = None
    shards: Sequence[Run] = ()
    key: KeyMeasurements = field(default_factory=KeyMeasurements)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The selected nodes that are in service: those that are contacted."""
        return tuple(node for node in self.selected if node.in_service)

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """The selected nodes by name."""
        return {node.name: node for node in self.selected}

    def place(self) -> str:
        """Make the run's directory, or take the resumed one; its id. Raises RunError."""
        self.started = _now()
        if not self.settings.replay:
            self.lock = FleetLock(self.settings.reports, self.inventory.fleet)
        resumed = self.earlier if self.settings.resume else None
        self.run = resumed or run.create(self.settings.reports)
        if self.lock:
            self.lock.name(self.run.id)
        return self.run.id

    def begin(self, planned: Sequence[Planned], collectors: Collectors, narrowed: str, screen: TextIO | None) -> None:
        """Write the plan, then start gathering. Raises RunError, InventoryError or SandboxError."""
        assert self.run is not None
        terms, pairs = self._terms(collectors), self._pairs(collectors)
        self.narrowed = shards.narrowed(narrowed, self.shards)
        with run.disk(self.run.path):
            run.clear(self.run)
            run.keep_inventory(self.run, self.inventory)
            self.run.describe(self._about())
            shards.join(self.run, self.shards)
            self._keep_plan(planned)
            self.journal = Journal(self.run.results)
        self.progress = Progress(Counter(each.node for each in planned), self.run.path / "progress.log", screen)
        self.source = self._evidence_source(collectors, terms, pairs)
        self.hand = FactsAtHand(self.source, self.inventory.profiles)
        if self.shards and self.run.evidence.exists():
            self.hand.failures.update(silent(self.run.evidence))

    def _about(self) -> dict[str, Any]:
        return {
            "schema": 1, "run": self.run.id if self.run else "", "fleet": self.inventory.fleet, "tier": self.settings.tier,
            "started": self.started, "version": __version__, "inventory": self.inventory.path.name,
            "inventory_path": str(self.origin.resolve()), "nodes": self.settings.nodes,
            "group": self.settings.group, "narrowed": self.narrowed,
            "replay_of": self.earlier.id if self.earlier and self.settings.replay else "",
            "connections": self.settings.connections, "duration": self.settings.duration,
            "until": self.until.isoformat() if self.until else "", "max_loaded": self.settings.max_loaded, "pairs": self.settings.pairs,
            "expired_waivers": self.inventory.expired(), "shard": self.settings.shard, "shards": [each.id for each in self.shards],
        }

    def _keep_plan(self, planned: Sequence[Planned]) -> None:
        """Write this session's part of the plan; what the shards planned and found counts like its own."""
        assert self.run is not None
        self.planned = {each.nodeid: each for each in (*self.run.planned(), *planned)}
        self.results = [each.slim() for each in self.run.judged()]
        journal = Journal(self.run.plan)
        for each in planned:
            journal.append(each)
        journal.close()

    def _terms(self, collectors: Collectors) -> Terms | None:
        """What the loads are settled to, if some check asks for one. Raises LoadRefused or InventoryError."""
        wanted = begin.wanted(collectors)
        if self.settings.replay or self.shards or not wanted:
            return None
        asked = Asked(self.settings.tier, self.settings.duration, self._until(), self.settings.max_loaded)
        return settle(asked, self.inventory, wanted, datetime.datetime.now().astimezone(), resumed=bool(self.settings.resume))

    def _until(self) -> datetime.datetime | None:
        """When all must have ended: settled once."""
        if self.settings.until and self.until is None:
            self.until = clock.until(self.settings.until, datetime.datetime.now())
        return self.until

    def _evidence_source(self, collectors: Collectors, terms: Terms | None, pairs: campaign.Terms | None) -> Source:
        assert self.run is not None and self.progress is not None
        if self.settings.replay and self.earlier:
            return sources.replayed(self.run, self.earlier)
        requests = partial(plan.requests, self.run.id, needed=begin.with_preflight(collectors))
        source = sources.live(self.run, self.inventory, requests, self.settings.connections, self.progress.tick, terms, pairs,
                              again=not self.shards)
        loads, together = source.loads, source.together
        self.together = together
        self.progress.loads = lambda: (loads.line() if loads else "") or (together.line() if together else "")
        return source

    def _pairs(self, collectors: Collectors) -> campaign.Terms | None:
        """What trials of several nodes are settled to, if some check asks for them. Raises LoadRefused."""
        wanted = {node for node, probes in collectors.items() if PAIRS in probes}
        if self.settings.replay or not wanted:
            return None
        return campaign.settle(self.inventory, wanted, self.settings.pairs, self._until(), tier=self.settings.tier)

    def try_together(self) -> None:
        """The campaign, once all that single nodes show is judged; nothing where no check asks for one, or in a replay. Raises RunError."""
        if self.together is not None:
            failures = self.hand.failures if self.hand else {}
            self.together.go(lambda: preflight.unwell(self.selected, list(self.planned.values()), self.results, failures))

    @cached_property
    def pairs(self) -> list[Group]:
        """The pairs of nodes that are to be tried."""
        return pair_groups(self.nodes, self.settings.pairs)

    @cached_property
    def interconnect(self) -> Interconnect:
        """What trials of several nodes say; read from the run's evidence once all of them ended."""
        assert self.run is not None
        return Interconnect.of(recorded(self.run.evidence), self.inventory)

    def fact(self, node: Node, fact: Fact) -> Any:
        """The view a check asks for. Raises NotMeasured saying why there is none."""
        if self.hand is None:
            raise NotMeasured(f"{node.name}: {fact.probe} was not gathered")
        return self.hand.fact(node, fact)

    def boot_id(self, node: str) -> str:
        """The boot id of the node whose facts are at hand, or empty."""
        return self.hand.boot_id(node) if self.hand else ""

    def record(self, result: Result) -> None:
        """Keep one result: whole on disk first, in memory only what judging needs."""
        assert self.journal is not None and self.progress is not None
        self.journal.append(result)
        self.results.append(result.slim())
        self.progress.item(result.node, result.outcome)

    def finish(self, interrupted: bool) -> dict[str, Any]:
        """Judge what was recorded, write verdicts.json and measurements.parquet, then point latest here. Raises RunError."""
        assert self.run is not None
        if self.progress:
            self.progress.end()
        if interrupted:  # perhaps between writing a result and remembering it
            self.results = [each.slim() for each in self.run.judged()]
        with judged(self._recorded(interrupted), self.key) as self.verdicts, run.disk(self.run.path):
            ended = {"ended": _now(), "interrupted": interrupted, "complete": self.verdicts["complete"]}
            self.run.describe({**self._about(), **ended})
            run.point_latest(self.run)
        return self.verdicts

    def _recorded(self, interrupted: bool) -> Recorded:
        assert self.run is not None
        failures = dict(self.hand.failures) if self.hand else {}
        if self.run.evidence.exists() and (interrupted or self.narrowed):  # nodes whose checks never had their turn
            failures = {**silent(self.run.evidence), **failures}
        return Recorded(self.run, {**self._about(), "interrupted": interrupted}, self.inventory, self.selected,
                        list(self.planned.values()), self.results, failures, self._machines())

    def _machines(self) -> dict[str, Machine]:
        """What stands at the names of the nodes contacted, as far as they told."""
        if self.shards and self.run:
            return rejudge.machines(self.run, self.inventory)
        serials, parts = (self.hand.serials, self.hand.parts) if self.hand else ({}, {})
        return {node.name: Machine(node.profile, serials.get(node.name, ""), parts.get(node.name, {})) for node in self.nodes}

    def write_reports(self) -> None:
        """junit.xml, metrics.prom and report.html, from what was judged. Raises RunError."""
        assert self.run is not None and self.verdicts is not None
        junit.write(self.run.path, self.verdicts, self.run.by_node(), self.selected)
        textfile.write(self.run, self.key.values, self.inventory.floor)
        if self.settings.metrics_dir:
            textfile.publish(Path(self.settings.metrics_dir), self.run, self.key.values, self.inventory.floor)
        if self.settings.html:
            html.write(self.run, self.verdicts, self.selected, self.comparison, self.run.path, self._typed_inventory())

    @cached_property
    def comparison(self) -> Comparison:
        """The judged run against the complete runs before it."""
        assert self.run is not None and self.verdicts is not None
        return earlier.compared(self.run, self.verdicts, self.results)

    def _typed_inventory(self) -> str:
        return str(self.origin if self.origin.is_file() else self.inventory.path)

    def summary(self) -> str:
        """The page for the terminal."""
        assert self.run is not None and self.verdicts is not None
        return terminal.summary(self.verdicts, self.results, self.selected, self.run.path, self._typed_inventory(),
                                comparison=self.comparison, html=self.settings.html)

    def exit_code(self, interrupted: bool) -> int:
        """The run's exit code once judged."""
        return exitcode.exit_code(self.verdicts or {}, self.results, interrupted=interrupted)

    def stop_gathering(self) -> None:
        """End every connection and the sandbox; what was gathered stays readable on disk."""
        if self.source is not None:
            self.source.close()

    def close(self) -> None:
        """End threads, connections and the sandbox; safe to call twice."""
        self.stop_gathering()
        if self.journal is not None:
            self.journal.close()
        if self.lock is not None:
            self.lock.release()
        self.source = self.journal = self.lock = None


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
