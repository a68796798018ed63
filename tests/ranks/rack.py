"""Simulated nodes that run trials: real SSH, real ranks with gloo on the loopback."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fleetcheck import inventory
from fleetcheck.collective.launcher import Launch, Ports, Terms, ask_ready, run_trial
from fleetcheck.collective.members import Ready, members, ports_of
from fleetcheck.collective.rounds import Planned
from fleetcheck.exchange import Exchange
from fleetcheck.sandbox.fleet import start

TERMS = Terms("r1", seconds=60, stall_seconds=20, rendezvous_seconds=30)
FLEET = """fleet: rack
defaults: {{profile: cpu-host, claim: none, torch_python: {python}, interconnect: {{device: cpu}}}}
nodes: {{{nodes}}}
sandbox: {{nodes: {{{faults}}}}}
"""


class Rack:
    """Nodes, each with what is wrong with its ranks ("" for nothing). ready: those that say that they can take part, refused: the others;
    asked: False takes all to be ready."""

    def __init__(self, folder, faults, settings=None, asked=True):
        file = folder / "rack.yaml"
        nodes = ", ".join(f"{name}: {(settings or {}).get(name, '')}" for name in faults)
        file.write_text(FLEET.format(python=sys.executable, nodes=nodes,
                                     faults=", ".join(f"{name}: {{ranks: [{{{fault}}}]}}" for name, fault in faults.items() if fault)))
        self.exchange = Exchange()
        self.sandbox = start(inventory.load(file))
        self.nodes = {node.name: node for node in self.sandbox.inventory.nodes}
        self.ready = {name: Ready(name, node.address, 1, tuple(ports_of(TERMS.ports)), {}) for name, node in self.nodes.items()}
        self.refused = {}
        if asked:
            self.ready, self.refused = members(ask_ready(self.exchange, list(self.nodes.values()), TERMS), self.nodes)
        self.ports = Ports(TERMS.ports)

    def trial(self, *names, benches, terms=TERMS, ready=None, ports=None) -> Launch:
        planned = Planned("pair" if len(names) == 2 else "group", names)
        return run_trial(self.exchange, planned, self.nodes, benches, terms, id_="t1", round_=1,
                         ready=ready or self.ready, ports=ports or self.ports)

    def trials(self, pairs, benches, terms=TERMS) -> dict:
        """All at once; first member → its launch."""
        with ThreadPoolExecutor(len(pairs)) as pool:
            return dict(zip([pair[0] for pair in pairs], pool.map(lambda pair: self.trial(*pair, benches=benches, terms=terms), pairs), strict=True))

    def stop(self):
        self.exchange.close()
        self.sandbox.stop()


def ranks_left(folder) -> list[bytes]:
    """Ranks of a sandbox that still run on this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if b"fleetcheck.node.ranks.main" in (path / "cmdline").read_bytes() and str(folder).encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes()[:80])
        except OSError:
            continue
    return found
