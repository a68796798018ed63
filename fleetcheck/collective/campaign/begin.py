"""The campaign of a run, once single nodes were judged: who enters, trials, what is said of each node. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from fleetcheck.absent import NotMeasured
from fleetcheck.collective import talk
from fleetcheck.collective.campaign import preflight
from fleetcheck.collective.campaign.campaign import Campaign
from fleetcheck.collective.campaign.course import Course
from fleetcheck.collective.campaign.hold import Hold
from fleetcheck.collective.campaign.launch import Kinds, Ranks, stand_in
from fleetcheck.collective.campaign.limits import limits
from fleetcheck.collective.campaign.ran import Launcher
from fleetcheck.collective.campaign.record import STAGE, Begun, Recorded, campaign_line, node_line, recorded
from fleetcheck.collective.campaign.terms import Terms, nvlink_sharp
from fleetcheck.collective.launcher import Terms as LaunchTerms
from fleetcheck.collective.launcher import ask_ready
from fleetcheck.collective.members import Ready, members
from fleetcheck.collective.topology import topology
from fleetcheck.exchange import Exchange
from fleetcheck.gather import Gathering
from fleetcheck.inventory import Inventory, Node
from fleetcheck.records import Failure
from fleetcheck.run import Run

FIRST = "facts-fast"
Unwell = Callable[[], Mapping[str, Failure]]


@dataclass
class Together:
    """``adopt`` when the run begins, ``go`` once single nodes were judged, ``close`` at the end. nodes: reachable ones, by name."""

    run: Run
    inventory: Inventory
    terms: Terms
    gathering: Gathering
    connections: int = 32
    campaign: Campaign | None = None
    hold: Hold | None = None
    offsets: dict[str, Future[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._accelerated: set[str] = set()
        self.nodes: dict[str, Node] = {node.name: node for node in self.inventory.nodes}
        for name in (*self.terms.nodes, *self.terms.unclaimed, *self.terms.alone):
            self.offsets[name] = Future()
            self.gathering.adopt((name, STAGE), self.offsets[name])

    def line(self) -> str:
        """How far it is; empty while there is none."""
        return self.campaign.line() if self.campaign else ""

    def go(self, unwell: Unwell) -> None:
        """From the preflight to the last trial. unwell: nodes that the checks before found at fault. Raises RunError."""
        before = recorded(self.run.evidence)
        self.hold = Hold(self.run.id, before.begun.claims if before.begun else None)
        self.hold.release()
        left_out = self._tried(before, unwell) if self.terms.nodes else {}
        for name, offset in self.offsets.items():
            line = node_line(self.run.id, name, _now(), left_out.get(name), alone=name in self.terms.alone)
            offset.set_result(self.gathering.journal.append(line))

    def _tried(self, before: Recorded, unwell: Unwell) -> dict[str, Failure]:
        """The campaign; who was not part of it, and why."""
        if before.begun and before.begun.over and not before.begun.left_out:
            return {}
        left_out, ready = self._preflight(unwell)
        left_out |= self._unclaimed()
        kinds = {name: tuple(node for node in kind if node not in left_out) for name, kind in self.terms.kinds.items()}
        self._note(begun := Begun(self.terms.mode, kinds, left_out, dict(self.hold.held) if self.hold else {}))
        planned = courses(self.inventory, self.terms, kinds, self._accelerated)
        self.campaign = Campaign(self.run.id, planned, self._launcher(kinds, ready), self.gathering.journal.append, self.connections,
                                 self._over, self.hold.lost if self.hold else dict, self.gathering.tick, before.kept,
                                 {node: "left out" for node in left_out})
        try:
            self.campaign.go()
        finally:
            self.campaign.launcher.close()
            self._release()
        left_out |= {node: Failure("lost", f"{node}: no longer tried with others: {why}") for node, why in self.campaign.lost.items()
                     if node not in left_out}
        self._note(replace(begun, left_out=left_out, claims={}, over=not self.campaign.ended, ended=self.campaign.ended))
        return left_out

    def _launcher(self, kinds: Mapping[str, Sequence[str]], ready: Mapping[str, Ready]) -> Launcher:
        """Of all kinds, over connections of their own."""
        found = []
        for names in filter(None, kinds.values()):
            nodes, on = {name: self.nodes[name] for name in names}, device(self.nodes[names[0]], self._accelerated)
            found.append(Ranks(Exchange(log=self.run.path / "gather.log"), nodes, {name: ready[name] for name in names},
                               _launch_terms(self.run.id, list(nodes.values())), self.terms.mode, on))
        return Kinds(found)

    def _note(self, begun: Begun) -> None:
        self.gathering.journal.append(campaign_line(self.run.id, begun, _now()))

    def _release(self) -> None:
        for said in self.hold.release() if self.hold else ():
            self.gathering.exchange.log.warning(said)  # type: ignore[attr-defined]

    def _over(self) -> str:
        return self.terms.over(datetime.datetime.now().astimezone())

    def _unclaimed(self) -> dict[str, Failure]:
        return {name: Failure("unclaimed", f"{name}: not tried with others: the inventory gives no claim for it; write claim: slurm-job, "
                                           "or claim: none") for name in self.terms.unclaimed}

    def _preflight(self, unwell: Unwell) -> tuple[dict[str, Failure], dict[str, Ready]]:
        """Who stays out, and how the others can be reached."""
        out = {name: why for name, why in unwell().items() if name in self.offsets}
        out |= {name: why for name in self.terms.nodes if name not in out and (why := self._unanswered(name))}
        ready: dict[str, Ready] = {}
        for kind in self.terms.kinds.values():
            able, refused = self._asked([self.nodes[name] for name in kind if name not in out])
            ready |= able
            out |= refused
        out |= self.hold.take([self.nodes[name] for name in ready], self.terms.seconds) if self.hold else {}
        for kind in self.terms.kinds.values():
            out |= _lonely([name for name in kind if name not in out])
        return out, ready

    def _asked(self, nodes: Sequence[Node]) -> tuple[dict[str, Ready], dict[str, Failure]]:
        """Nodes of one kind: those that can take part, and why the others cannot."""
        if not nodes:
            return {}, {}
        try:
            told = ask_ready(self.gathering.exchange, nodes, _launch_terms(self.run.id, nodes), self.connections, beside=("system",))
        except BaseException:  # the run ends: what is asked is not waited for
            self.gathering.exchange.close()
            raise
        for each in told.values():
            self.gathering.journal.append(each)
        self._accelerated |= {name for name, each in told.items() if preflight.accelerated(each)}
        out = {name: why for name, evidence in told.items() if (why := preflight.busy(name, evidence))}
        able, refused = members({name: each for name, each in told.items() if name not in out}, self.nodes)
        return able, {**refused, **out}

    def _unanswered(self, name: str) -> Failure | None:
        """Why a node that told no facts is not asked for ranks."""
        try:
            failure = self.gathering.evidence(name, FIRST).failure
        except NotMeasured:
            return None
        return Failure(failure.kind, f"{failure.message} (so it was not tried with others)") if failure else None

    def close(self) -> None:
        """End its trials, give its nodes back; whoever waits hears no more."""
        if self.campaign:
            self.campaign.launcher.close()
        self._release()
        for offset in self.offsets.values():
            offset.cancel()


def courses(inventory: Inventory, terms: Terms, kinds: Mapping[str, Sequence[str]], accelerated: Collection[str]) -> list[Course]:
    """Planned over all nodes of a kind, also those that stay out, so that pairs are those that the run's items are about. kinds: those that
    enter, by profile; accelerated: nodes whose torch sees accelerators.
    """
    nodes, found = {node.name: node for node in inventory.nodes}, []
    for profile, kind in kinds.items():
        if len(kind) > 1:
            first, of = nodes[kind[0]], inventory.profiles[profile]
            alone = terms.by_themselves and nvlink_sharp(of) and device(first, accelerated) == "cuda"
            labels = {name: nodes[name].labels for name in terms.kinds[profile]}
            found.append(Course(topology(labels), terms.mode, limits(of, stand_in(first, inventory)), alone))
    return found


def device(node: Node, accelerated: Collection[str]) -> str:
    """What the ranks of this node and its like work on."""
    return "cuda" if talk.device(node) != "cpu" and node.name in accelerated else "cpu"


def _launch_terms(run: str, nodes: Sequence[Node]) -> LaunchTerms:
    return replace(LaunchTerms(run, ports=talk.ports(nodes)), **talk.patience(nodes))


def _lonely(kind: Sequence[str]) -> dict[str, Failure]:
    """A node whose peers all stay out."""
    if len(kind) != 1:
        return {}
    return {kind[0]: Failure("deferred", f"{kind[0]}: not tried with others: no other node of its profile can take part")}


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
