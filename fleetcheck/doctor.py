"""Before a first run: what this user can log in to and read, collector by collector, and what would change it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from fleetcheck import plan, readings
from fleetcheck.access import Access, accesses
from fleetcheck.common_cause import generic
from fleetcheck.exchange import Request
from fleetcheck.facts.registry import FACTS
from fleetcheck.gather import Asks
from fleetcheck.inventory import Inventory, Node, fold
from fleetcheck.records import Evidence, Failure
from fleetcheck.report.lines import said, several

CONNECTIONS = 32
STATES = {"full": "fully", "partly": "partly", "failed": "failed"}
HEADS = ("collector", "nodes", "read", "what is missing", "fix")
OR = " | or: "
Row = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Examined:
    """What one node let this user read. login: why nobody could ask, of the worst probe."""

    node: Node
    login: Failure | None = None
    accesses: tuple[Access, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything could be read."""
        return self.login is None and all(each.state == "full" for each in self.accesses)


def examine(inventory: Inventory, nodes: Sequence[Node], connections: int = CONNECTIONS) -> list[Examined]:
    """Ask every node in service for everything a check may read. A sandbox is started for it.

    Raises SandboxError. Nodes out of service are not contacted and not in the answer.
    """
    from fleetcheck.exchange import Exchange  # imports paramiko: only what connects pays for it

    names = [node.name for node in nodes if node.in_service]
    with ExitStack() as open_:
        reachable = _reachable(inventory, open_)
        exchange = Exchange()
        open_.callback(exchange.close)
        wanted = plan.requests("doctor", reachable, {name: _probes(reachable, name) for name in names})
        evidence = _asked(exchange, wanted, connections)
    return examined([node for node in reachable.nodes if node.name in set(names)], evidence)


def _asked(exchange: Asks, wanted: Sequence[tuple[Node, Request]], connections: int) -> list[Evidence]:
    """Every answer; an interrupt ends what is in flight instead of waiting for it."""
    with ThreadPoolExecutor(max_workers=max(1, connections)) as pool:
        try:
            return list(pool.map(lambda pair: exchange.ask(*pair), wanted))
        except KeyboardInterrupt:
            exchange.close()
            raise


def _reachable(inventory: Inventory, open_: ExitStack) -> Inventory:
    if inventory.sandbox is None:
        return inventory
    from fleetcheck import sandbox

    return open_.enter_context(sandbox.start(inventory)).inventory


def _probes(inventory: Inventory, name: str) -> dict[str, set[str]]:
    """Every collector a check of this node may need; a node without GPUs has none to ask for."""
    node = next(node for node in inventory.nodes if node.name == name)
    has_gpus = inventory.profiles[node.profile].gpu is not None
    probes: dict[str, set[str]] = {}
    for fact in FACTS:
        if has_gpus or fact.collector != "gpu":
            probes.setdefault(fact.probe, set()).add(fact.collector)
    return probes


def examined(nodes: Iterable[Node], evidence: Iterable[Evidence]) -> list[Examined]:
    """What the answers say of each node."""
    known = readings.collectors()
    asked: dict[str, list[Evidence]] = {}
    for each in evidence:
        asked.setdefault(each.node, []).append(each)
    return [_examined(node, asked.get(node.name, []), known) for node in nodes]


def _examined(node: Node, evidence: Sequence[Evidence], known: Mapping[str, readings.Collector]) -> Examined:
    login = next((each.failure for each in evidence if each.failure), None)
    found = [access for each in evidence if not each.failure
             for access in accesses(node, [known[name] for name in each.answers if name in known], each)]
    order = list(known)
    return Examined(node, login, tuple(sorted(found, key=lambda access: order.index(access.collector))))


def rows(found: Iterable[Examined]) -> list[Row]:
    """The table: login problems first, then each collector, nodes that show the same in one row."""
    groups: dict[Row, list[str]] = {}
    for each in found:
        for row in _rows(each):
            groups.setdefault(row, []).append(each.node.name)
    order = ["login", *readings.collectors()]
    folded = [(row[0], fold(names), *row[2:]) for row, names in groups.items()]
    return sorted(folded, key=lambda row: (order.index(row[0]), row[2] == STATES["full"]))


def _rows(each: Examined) -> list[Row]:
    found = [_row(access) for access in each.accesses]
    if each.login:
        what, _, fix = generic(each.login.message, each.node.name).rpartition("; ")
        return [("login", "", each.login.kind, said(what, 600), said(fix, 600)), *found]
    return found


def _row(access: Access) -> Row:
    gaps = [f"{gap.leaf} ({gap.lack}: {gap.what})" if gap.leaf else f"{gap.lack}: {gap.what}" for gap in access.gaps]
    missing = access.error or several(gaps, 6)
    return access.collector, "", STATES[access.state], said(missing, 600), said(OR.join(access.fixes), 800)


def show(found: Sequence[Examined], stream: TextIO) -> None:
    """Print the table: drawn on a terminal with the fixes whole below it, tab-separated lines elsewhere."""
    console = Console(file=stream, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        stream.write("".join("\t".join(row).rstrip("\t") + "\n" for row in (HEADS, *rows(found))))
    else:
        _draw(rows(found), console)
    stream.write(_conclusion(found) + "\n")


def _draw(found: Sequence[Row], console: Console) -> None:
    """The table, then each fix on lines of its own that are never cut, so that commands can be copied."""
    table = Table(*(Column(head, overflow="fold") for head in HEADS[:-1]))
    for row in found:
        table.add_row(*map(Text, row[:-1]), style="" if row[2] == STATES["full"] else "yellow")
    console.print(table)
    for collector, names, _, _, fix in found:
        if fix:
            console.print(Text(f"{collector} on {names}:", style="bold"), soft_wrap=True)
            console.print(Text("".join(f"    {way}\n" for way in fix.split(OR)), end=""), soft_wrap=True, end="")


def _conclusion(found: Sequence[Examined]) -> str:
    good = [each.node.name for each in found if each.ok]
    which = f": {fold(good)}" if good else ""
    return f"everything can be read on {len(good)} of {len(found)} nodes{which}"


def as_json(fleet: str, found: Sequence[Examined]) -> dict[str, Any]:
    """The same for programs."""
    nodes = {each.node.name: {
        "ok": each.ok, "login": asdict(each.login) if each.login else None,
        "collectors": {access.collector: asdict(access) for access in each.accesses},
    } for each in found}
    return {"schema": 1, "fleet": fleet, "ok": all(each.ok for each in found), "nodes": nodes}
