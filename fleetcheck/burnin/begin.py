"""The loads of a run, from what its checks need: requests, terms, and a start as soon as each node's facts are in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from functools import partial

from fleetcheck.burnin.book import NAME, Book
from fleetcheck.burnin.controller import Loads
from fleetcheck.burnin.preflight import trouble
from fleetcheck.burnin.record import recalled
from fleetcheck.burnin.schedule import ABOUT
from fleetcheck.burnin.terms import Terms
from fleetcheck.burnin.timer import Timer
from fleetcheck.burnin.under import PROBE, START_SECONDS
from fleetcheck.exchange import Request
from fleetcheck.facts.registry import PAIRS, PROBES
from fleetcheck.gather import Gathering, Key, missing
from fleetcheck.inventory import Inventory, Node
from fleetcheck.run import Run

Asked = Sequence[tuple[Node, Request]]
Needed = Mapping[str, Mapping[str, Collection[str]]]
"""{node: {probe: collectors}}."""
FIRST = "facts-fast"


def wanted(needed: Needed) -> dict[str, Collection[str]]:
    """By node, what its checks ask of a load; nodes without such checks are not loaded."""
    return {node: probes[PROBE] for node, probes in needed.items() if probes.get(PROBE)}


def with_preflight(needed: Needed) -> dict[str, dict[str, set[str]]]:
    """What is needed, and of every node to be loaded or tried with others at least who it is and what runs there."""
    return {node: {**({FIRST: set()} if {PROBE, PAIRS} & probes.keys() else {}), **{probe: set(names) for probe, names in probes.items()}}
            for node, probes in needed.items()}


def requests(run: str, inventory: Inventory, terms: Terms) -> list[tuple[Node, Request]]:
    """One request for each node to be loaded; its collectors are the loads it will run and what belongs to all of them."""
    return [(node, Request(run, "load", PROBE, tuple(sorted({*terms.loads[node.name], *ABOUT})), START_SECONDS))
            for node in inventory.nodes if node.name in terms.loads]


def begin(this: Run, inventory: Inventory, terms: Terms, gathering: Gathering, asked: Asked, kept: Mapping[Key, int],
          connections: int) -> Loads:
    """Take on the nodes whose loads are missing; each begins once its facts are in. kept: what this run knows already.

    Raises RunError.
    """
    path = this.path / NAME
    before = recalled(path)
    loads = Loads(terms, inventory, gathering.exchange, Book(path), gathering.journal, Timer(), pool=gathering.pool,
                  connections=connections)
    known = gathering.asked()
    for name, offset in loads.start(missing(asked, kept), before).items():
        facts = facts_of(known[name])
        gathering.adopt((name, PROBE), offset)
        when_all(facts.values(), partial(_ready, loads, gathering, name, list(facts)), offset.set_exception)
    for name in terms.unclaimed:
        gathering.adopt((name, PROBE), loads.refuse(this.id, name))
    loads.tidy([each for each in asked if (each[0].name, PROBE) in kept], before)
    return loads


def facts_of(asked: Mapping[Key, Future[int]]) -> dict[Key, Future[int]]:
    """Of all that a node was asked, its facts: it is tried with others only after its load, which must not wait for that."""
    return {key: answer for key, answer in asked.items() if key[1] in PROBES}


def _ready(loads: Loads, gathering: Gathering, node: str, asked: Sequence[Key]) -> None:
    """On a gathering thread: a node's facts are on disk. An earlier session's facts do not say whether it is busy now."""
    facts = [gathering.evidence(*key) for key in asked]
    loads.ready(node, trouble(node, facts) if facts else None, fresh=bool(facts))


def when_all(futures: Collection[Future[int]], then: Callable[[], None], failed: Callable[[BaseException], None]) -> None:
    """Do it once all are done; ``failed`` with the first error of one of them or of ours. Cancelled ones: the run is ending."""
    told = list(futures)
    left, lock = [len(told)], threading.Lock()

    def count(_: Future[int] | None) -> None:
        with lock:
            left[0] -= 1
            last = left[0] <= 0
        if not last or any(each.cancelled() for each in told):
            return
        try:
            for each in told:
                each.result()
            then()
        except Exception as error:  # noqa: BLE001 - whoever waits for the load must hear of it
            failed(error)

    for each in told:
        each.add_done_callback(count)
    if not told:
        count(None)


__all__ = ["begin", "requests", "wanted", "with_preflight"]
