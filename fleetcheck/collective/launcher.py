"""One trial, launched: every member is asked over the run's own exchange, all at once, under one deadline. Runs on the controller.

What is asked of a node is attached: when the deadline passes, the run is ended or the connection goes, its ranks end too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from fleetcheck.collective import nccl_tests, talk
from fleetcheck.collective.bench import Bench
from fleetcheck.collective.broken_off import looked_at
from fleetcheck.collective.members import Ready, ports_of
from fleetcheck.collective.ranks import member
from fleetcheck.collective.reading_ranks import TrialRun, trial_of
from fleetcheck.collective.rounds import Planned
from fleetcheck.exchange import Request
from fleetcheck.gather import Asks
from fleetcheck.nodes import Node
from fleetcheck.records import Evidence, Failure

PROBE = "trial"
STAGE = "pairs"
READY_SECONDS = 125.0
MARGIN_SECONDS = 15.0
PORT_TRIES = 3


@dataclass(frozen=True)
class Terms:
    """What holds for all trials of a run. seconds: for the benchmarks of one trial; rendezvous: until all ranks must have arrived;
    stall: for how long a rank may show nothing; start: for importing torch. ports: where a master may listen; environment: for every rank,
    on top of what the inventory says of its node.
    """

    run: str
    seconds: float = 120.0
    rendezvous_seconds: float = 60.0
    stall_seconds: float = 30.0
    start_seconds: float = 120.0
    ports: str = talk.PORTS
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def deadline_seconds(self) -> float:
        """Of one member's answer."""
        return self.start_seconds + self.rendezvous_seconds + self.seconds + self.stall_seconds + MARGIN_SECONDS


class Ports:
    """Master ports in use by this run: no two trials at once take the same one, for simulated nodes share their addresses."""

    def __init__(self, span: str) -> None:
        """span: first and last, such as ``29500-29599``. Raises ValueError."""
        self._span = ports_of(span)
        self._next = 0
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def take(self, free: Sequence[int]) -> int | None:
        """One that is free on the master; None when all are taken."""
        with self._lock:
            for step in range(len(self._span)):
                port = self._span[(self._next + step) % len(self._span)]
                if port in free and port not in self._taken:
                    self._next += step + 1
                    self._taken.add(port)
                    return port
        return None

    def give_back(self, port: int) -> None:
        """The trial is over."""
        with self._lock:
            self._taken.discard(port)


@dataclass(frozen=True)
class Launch:
    """A trial that was launched. evidence: what each member answered, in the order of the ranks; port: of the master."""

    run: TrialRun
    evidence: tuple[Evidence, ...] = ()
    port: int | None = None


def ask_ready(exchange: Asks, nodes: Sequence[Node], terms: Terms, most: int = 32, beside: tuple[str, ...] = ()) -> dict[str, Evidence]:
    """What every node says of taking part: node → evidence of probe ``rank_ready``. beside: collectors asked with it."""
    partners = {node.name: node.address for node in nodes}

    def ask(place: int) -> Evidence:
        own = {**talk.torch(nodes[place]), "ports": terms.ports, "partners": partners}
        return exchange.ask(nodes[place], Request(terms.run, STAGE, "rank_ready", ("rank_ready", *beside), READY_SECONDS, {"trial": own}))

    return {evidence.node: evidence for evidence in _all_at_once(ask, len(nodes), most)}


def run_trial(exchange: Asks, planned: Planned, nodes: Mapping[str, Node], benches: Sequence[Bench], terms: Terms, *,
              id_: str, round_: int, ready: Mapping[str, Ready], ports: Ports) -> Launch:
    """One trial, to its end. ready: of every member; ports: shared by all trials of the run. Nothing is raised for node trouble."""
    tried: set[int] = set()
    for _ in range(PORT_TRIES):
        order, port = _master(planned.members, ready, ports, tried)
        if port is None:
            return Launch(TrialRun(None, {order[0]: Failure("not-ready", f"{order[0]}: no free port in {terms.ports} on any member; "
                                                                        "give another range: ports")}))
        try:
            evidence = _asked(exchange, order, nodes, ready, _trial(order, port, benches, terms, ready, id_), terms)
        finally:
            ports.give_back(port)
        tried.add(port)
        members = [member(each) for each in evidence]
        if members[0].failed != "port-taken":
            break
    told = {each.node: each for each in members}
    if sorted(order) == sorted(planned.members):
        members = [told[name] for name in order]
    return Launch(trial_of(id_, round_, planned.kind, members, benches), tuple(evidence), port)


def _master(members: Sequence[str], ready: Mapping[str, Ready], ports: Ports, tried: set[int]) -> tuple[list[str], int | None]:
    """The members, the master first, and its port: the first of them that has one free."""
    for name in members:
        port = ports.take([port for port in ready[name].free_ports if port not in tried])
        if port is not None:
            return [name, *(other for other in members if other != name)], port
    return list(members), None


def _trial(order: Sequence[str], port: int, benches: Sequence[Bench], terms: Terms, ready: Mapping[str, Ready], id_: str) -> dict[str, Any]:
    """What every member is told alike."""
    return {
        "id": id_, "master_addr": ready[order[0]].address, "master_port": port, "nnodes": len(order),
        "per_node": min(ready[name].ranks for name in order), "seconds": terms.seconds,
        "rendezvous_seconds": terms.rendezvous_seconds, "stall_seconds": terms.stall_seconds, "start_seconds": terms.start_seconds,
        "bench": [bench.as_asked() for bench in benches],
    }


def _asked(exchange: Asks, order: Sequence[str], nodes: Mapping[str, Node], ready: Mapping[str, Ready], trial: Mapping[str, Any],
           terms: Terms) -> list[Evidence]:
    """Every member's answer, all asked at once: none can begin without the others."""
    def ask(place: int) -> Evidence:
        node = nodes[order[place]]
        own = {**trial, **talk.torch(node), "node_rank": place, "environment": {**talk.environment(node), **terms.environment}}
        told = exchange.ask(node, Request(terms.run, STAGE, PROBE, ("rank_run",), terms.deadline_seconds, {"trial": own}))
        return looked_at(exchange, told, node)

    return _all_at_once(ask, len(order), len(order))


def _all_at_once(ask: Callable[[int], Evidence], count: int, most: int) -> list[Evidence]:
    """Interrupted, it waits for nobody: whoever interrupts closes the exchange, which ends all asks."""
    pool = ThreadPoolExecutor(max(1, most), thread_name_prefix="trial")
    try:
        return list(pool.map(ask, range(count)))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def run_nccl_tests(exchange: Asks, nodes: Sequence[Node], op: str, sizes: tuple[int, int], per_node: int, terms: Terms) -> Evidence:
    """nccl-tests over these nodes, started on the first: evidence of probe ``nccl-tests``. Raises ValueError for an inventory without a
    launcher.
    """
    asked = nccl_tests.settings(nodes, op, *sizes, per_node, terms.seconds)
    return exchange.ask(nodes[0], Request(terms.run, STAGE, "nccl-tests", ("nccl_tests",), terms.seconds + MARGIN_SECONDS,
                                          {"nccl_tests": asked}))
