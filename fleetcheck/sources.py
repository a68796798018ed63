"""Where a run's evidence comes from: its nodes, a simulated rack, or an earlier run. Runs on the controller."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleetcheck import run
from fleetcheck.at_hand import Source
from fleetcheck.burnin import begin as burnin
from fleetcheck.exchange import Exchange, Request
from fleetcheck.gather import Gathering, Key, Recorded, index, missing, usable
from fleetcheck.inventory import Inventory, Node
from fleetcheck.journal import Journal
from fleetcheck.records import Evidence, Share

if TYPE_CHECKING:
    from fleetcheck.burnin.controller import Loads
    from fleetcheck.burnin.terms import Terms
    from fleetcheck.collective.campaign.begin import Together
    from fleetcheck.collective.campaign.terms import Terms as Pairs
    from fleetcheck.sandbox.fleet import Sandbox

Asked = Sequence[tuple[Node, Request]]


@dataclass
class Live:
    """Nodes being asked, and the simulated rack they may belong to."""

    gathering: Gathering
    sandbox: Sandbox | None = None
    loads: Loads | None = None
    together: Together | None = None

    def evidence(self, node: str, probe: str) -> Evidence:
        """One probe's evidence, waiting for it."""
        return self.gathering.evidence(node, probe)

    def turns(self, wanted: Mapping[Share, Collection[str]]) -> Iterator[Share]:
        """Nodes and stages as they are answered."""
        return self.gathering.turns(wanted)

    def close(self) -> None:
        """End every load and connection, then the rack."""
        with ExitStack() as last:
            if self.sandbox is not None:
                last.callback(self.sandbox.stop)
            last.callback(self.gathering.close)
            if self.together is not None:
                last.callback(self.together.close)
            if self.loads is not None:
                self.loads.close()


def replayed(this: run.Run, earlier: run.Run) -> Source:
    """The evidence of an earlier run, adopted by this one. Raises RunError."""
    run.adopt_evidence(this, earlier)
    return Recorded(this.evidence)


def live(this: run.Run, inventory: Inventory, requests: Callable[[Inventory], Asked], connections: int,
         tick: Callable[[], None], terms: Terms | None = None, pairs: Pairs | None = None, again: bool = True) -> Live:
    """Start asking. What this run already knows is not asked again; a failure is, if ``again``. terms: of its loads; pairs: of trials of
    several nodes.

    Raises RunError or SandboxError.
    """
    run.own_evidence(this)
    rack = _rack(inventory)
    try:
        reachable = rack.inventory if rack else inventory
        wanted = requests(reachable)
        loads = burnin.requests(this.id, reachable, terms) if terms else []
        kept = _kept(this, [*wanted, *loads], again)
        gathering = Gathering(Exchange(log=this.path / "gather.log"), Journal(this.evidence), connections, tick, kept)
    except BaseException:
        if rack:
            rack.stop()
        raise
    gathering.start(missing(wanted, kept))
    source = Live(gathering, rack)
    try:
        if terms and loads:
            source.loads = burnin.begin(this, reachable, terms, gathering, loads, kept, connections)
        if pairs:  # last: loads begin when all is answered that was asked before
            source.together = _together(this, reachable, pairs, gathering, connections)
    except BaseException:
        source.close()
        raise
    return source


def _kept(this: run.Run, wanted: Asked, again: bool) -> dict[Key, int]:
    if not this.evidence.exists():
        return {}
    return usable(this.evidence, wanted) if again else index(this.evidence)


def _together(this: run.Run, inventory: Inventory, terms: Pairs, gathering: Gathering, connections: int) -> Together:
    from fleetcheck.collective.campaign.begin import Together  # only a run with trials of several nodes pays for it

    return Together(this, inventory, terms, gathering, connections)


def _rack(inventory: Inventory) -> Sandbox | None:
    """The simulated rack of an inventory that describes one, started."""
    if inventory.sandbox is None:
        return None
    from fleetcheck import sandbox  # only a simulated fleet pays for it

    return sandbox.start(inventory)
