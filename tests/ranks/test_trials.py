"""Trials over simulated nodes: real SSH, real ranks with gloo on the loopback, real faults."""

import sys
from pathlib import Path

import pytest

from fleetcheck import inventory
from fleetcheck.collective.bench import Bench
from fleetcheck.collective.launcher import Ports, Terms, ask_ready, run_trial
from fleetcheck.collective.members import members
from fleetcheck.collective.rounds import Planned
from fleetcheck.exchange import Exchange
from fleetcheck.sandbox.fleet import start

TERMS = Terms("r1", seconds=60, stall_seconds=4, rendezvous_seconds=20, device="cpu")
FLEET = """fleet: rack
defaults: {{profile: cpu-host, claim: none, torch_python: {python}}}
nodes: {{'n[1-3]': }}
sandbox: {{}}
"""


class Rack:
    """Three simulated nodes that can take part."""

    def __init__(self, folder):
        file = folder / "rack.yaml"
        file.write_text(FLEET.format(python=sys.executable))
        self.exchange = Exchange()
        self.sandbox = start(inventory.load(file))
        self.nodes = {node.name: node for node in self.sandbox.inventory.nodes}
        self.evidence = ask_ready(self.exchange, list(self.nodes.values()), TERMS)
        self.ready, self.refused = members(self.evidence, self.nodes, device="cpu")
        self.ports = Ports(TERMS.ports)

    def trial(self, *names, benches, terms=TERMS):
        return run_trial(self.exchange, Planned("pair" if len(names) == 2 else "group", names), self.nodes, benches, terms, id_="t1", round_=1,
                         ready=self.ready, ports=self.ports)

    def stop(self):
        self.exchange.close()
        self.sandbox.stop()


@pytest.fixture(scope="module")
def rack(tmp_path_factory):
    found = Rack(tmp_path_factory.mktemp("rack"))
    yield found
    found.stop()


def ranks_left():
    """Ranks that still run on this machine."""
    found = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    return [line[:80] for line in found if b"fleetcheck.node.ranks.main" in line]


def test_every_node_can_take_part(rack):
    assert ["n1", "n2", "n3"] == sorted(rack.ready) and {} == rack.refused


def test_every_collective_is_measured_and_right(rack):
    names = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv")
    benches = [*(Bench(name, (8, 1 << 18), iterations=20, warmup=1) for name in names), Bench("barrier", iterations=20),
               Bench("overlap", (1 << 18,), iterations=3, warmup=1)]
    trial = rack.trial("n1", "n2", "n3", benches=benches).run.trial
    assert ("ok", "") == (trial.outcome, trial.message)
    assert {f"{name}_{what}" for name in names for what in ("p50_us_8B", "p99_us_8B", "busbw_gb_s_256KiB")} | {
        "barrier_p50_us", "barrier_p99_us", "overlap_ratio_256KiB"} <= {value.metric for value in trial.values}
    ways = {(value.sender, value.receiver) for value in trial.values if value.metric == "send_recv_busbw_gb_s_256KiB"}
    assert {("n1", "n2"), ("n2", "n3"), ("n3", "n1"), ("n2", "n1"), ("n3", "n2"), ("n1", "n3")} == ways
    assert [(True, False, "exit 0")] * 3 == [(report.arrived, report.wrong, report.ended) for report in trial.reports]
    assert [] == ranks_left()
