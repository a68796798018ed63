"""``fleetcheck cross-check``: our ranks and nccl-tests on the same nodes, one after the other, side by side. Runs on the controller."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TextIO

from fleetcheck.burnin.preflight import look, trouble
from fleetcheck.collective import nccl_tests, ncclt, talk
from fleetcheck.collective.bench import Bench, metric, size_label, sweep
from fleetcheck.collective.launcher import Ports, Terms, ask_ready, run_nccl_tests, run_trial
from fleetcheck.collective.members import members
from fleetcheck.collective.reading import Said
from fleetcheck.collective.rounds import Planned
from fleetcheck.collective.trial import Trial
from fleetcheck.exchange import Exchange
from fleetcheck.gather import Asks
from fleetcheck.inventory import Inventory, InventoryError, Node

RUN = "cross-check"
FIRST, LAST, STEP = 1 << 20, 256 << 20, 4


@dataclass(frozen=True)
class Both:
    """What both measured, as far as they came, and what it says."""

    said: Said
    op: str = ""
    trial: Trial | None = None
    output: ncclt.Output | None = None


def cross_check(inventory: Inventory, nodes: Sequence[Node], op: str, last: int = LAST, seconds: float = 300.0) -> Both:
    """Ranks of ours, then the program. last: the largest size, in bytes. Raises InventoryError; SandboxError for a simulated fleet."""
    _claimed(inventory, nodes)
    with ExitStack() as open_:
        names = [node.name for node in nodes]
        known = {node.name: node for node in _reachable(inventory, open_).nodes}
        exchange = Exchange()
        open_.callback(exchange.close)
        return _both(exchange, [known[name] for name in names], op, last, Terms(RUN, seconds=seconds, ports=talk.ports(nodes)))


def _claimed(inventory: Inventory, nodes: Sequence[Node]) -> None:
    """It loads nodes: only those that the inventory leaves to whoever asks."""
    for node in nodes:
        if node.claim != "none":
            raise InventoryError(f"{inventory.path}: {node.name}: claim: {node.claim or 'not given'}; this loads nodes and takes no claim "
                                 "by itself: reserve them, and give claim: none in an inventory of just these")


def _reachable(inventory: Inventory, open_: ExitStack) -> Inventory:
    if inventory.sandbox is None:
        return inventory
    from fleetcheck import sandbox

    return open_.enter_context(sandbox.start(inventory)).inventory


def _both(exchange: Asks, nodes: Sequence[Node], op: str, last: int, terms: Terms) -> Both:
    """As far as it comes: idle nodes that can take part, our trial, the program."""
    by_name = {node.name: node for node in nodes}
    busy = [failure.message for node in nodes if (failure := trouble(node.name, [exchange.ask(node, look(RUN))]))]
    ready, refused = members(ask_ready(exchange, nodes, terms), by_name) if not busy else ({}, {})
    why = [*busy, *(failure.message for failure in refused.values())]
    if why:
        return Both(Said("error", "config", "; ".join(why)))
    bench = Bench(op, sweep(FIRST, last, STEP), iterations=20, warmup=5)
    launched = run_trial(exchange, Planned("pair" if len(nodes) == 2 else "group", tuple(by_name)), by_name, [bench], terms, id_="1",
                         round_=1, ready=ready, ports=Ports(terms.ports)).run
    if launched.trial is None or launched.trial.outcome != "ok":
        words = launched.trial.message if launched.trial else "; ".join(failure.message for failure in launched.refused.values())
        return Both(Said("error", "run", f"our own ranks: {words}"), op, launched.trial)
    try:
        found = nccl_tests.output(run_nccl_tests(exchange, nodes, op, (FIRST, last), min(each.ranks for each in ready.values()), terms))
    except ValueError as error:
        found = Said("error", "config", str(error))
    if isinstance(found, Said):
        return Both(found, op, launched.trial)
    return Both(nccl_tests.compared(found, launched.trial, op), op, launched.trial, found)


def show(both: Both, out: TextIO) -> None:
    """Size by size, then the word."""
    ours = {value.metric: value.number for value in both.trial.values} if both.trial else {}
    theirs = {row.size_bytes: min(each.busbw_gbytes_per_second for each in row.figures) for row in both.output.rows if row.figures} \
        if both.output else {}
    for size in sweep(FIRST, max([FIRST, *theirs]), STEP):
        own = ours.get(metric(both.op, "busbw_gb_s", size))
        if own is not None or size in theirs:
            out.write(f"{size_label(size):>8}  our ranks {_figure(own)}  nccl-tests {_figure(theirs.get(size))}  GB/s busbw\n")
    out.write(f"{both.said.message}\n")


def _figure(number: float | None) -> str:
    return f"{'-':>8}" if number is None else f"{number:8.4g}"
