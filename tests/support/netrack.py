"""Nodes in namespaces that run trials: real OpenSSH, real links, real torch, and the campaign that a run would drive.

Ranks that are measured go before whatever else wants the processors of this machine: the figures are to be the link's.
"""

import subprocess
import sys
import textwrap
import threading

from fleetcheck import inventory
from fleetcheck.collective.campaign.campaign import Campaign
from fleetcheck.collective.campaign.course import Course, standing
from fleetcheck.collective.campaign.ran import Ran
from fleetcheck.collective.launcher import Ports, Terms, ask_ready, run_trial
from fleetcheck.collective.members import members
from fleetcheck.collective.topology import topology
from fleetcheck.exchange import Exchange
from fleetcheck.sandbox.fleet import start

FLEET = """fleet: netrack
defaults:
  profile: cpu-host
  claim: none
  torch_python: {python}
  load: {{prefix: {prefix}}}
  interconnect: {{interface: eth0, device: cpu, per_node: 1, most_bytes: 65536, stall_seconds: 5, rendezvous_seconds: 15}}
nodes: {{'{nodes}': }}
sandbox:
  kind: namespaces
{section}
"""
FIRST = 'if /usr/bin/chrt -r 1 /bin/true 2>/dev/null; then exec /usr/bin/chrt -r 1 "$@"; fi; exec "$@"'
PROMPT = f"[/bin/sh, -c, '{FIRST}', rank]"
"""What a rank starts with that is to be measured: a real-time task where it may be one."""
TERMS = Terms("r1", seconds=60, stall_seconds=5, rendezvous_seconds=12)


def write(file, nodes, section, prefix="[]"):
    """The inventory of such nodes; section: of the sandbox, as its description has it; prefix: what ranks start with."""
    file.write_text(FLEET.format(python=sys.executable, nodes=nodes, prefix=prefix, section=textwrap.indent(textwrap.dedent(section), "  ")))


class NetRack:
    """Nodes that can take part. section: of the sandbox, as its description has it."""

    def __init__(self, folder, nodes, section="", terms=TERMS):
        file = folder / "rack.yaml"
        write(file, nodes, section, PROMPT)
        self.terms = terms
        self.exchange = Exchange()
        self.sandbox = start(inventory.load(file))
        self.nodes = {node.name: node for node in self.sandbox.inventory.nodes}
        self.ports = Ports(self.terms.ports)
        self.evidence = ask_ready(self.exchange, list(self.nodes.values()), self.terms, most=4)
        self.ready, self.refused = members(self.evidence, self.nodes)

    def trial(self, planned, benches, number=1, name="t"):
        return run_trial(self.exchange, planned, self.nodes, benches, self.terms, id_=name, round_=number, ready=self.ready, ports=self.ports)

    def run(self, name, command):
        """What a command on a node says."""
        argv = ["ssh", "-F", self.sandbox.directory / "ssh_config", "-o", "BatchMode=yes", name, command]
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=True).stdout

    def campaign(self, benches, limits, lanes):
        """Rounds, retests and what follows of them: a campaign's standing."""
        rack = self

        class Launcher:
            def run(self, planned, number, name):
                launched = rack.trial(planned, benches, number, name)
                return Ran(launched.run.trial, "", {node: why.message for node, why in launched.run.refused.items()})

            def close(self):
                rack.exchange.close()

        course = Course(topology({name: {} for name in self.nodes}), "quick", {limit.metric: limit for limit in limits}.get)
        lock, kept = threading.Lock(), []

        def keep(evidence):
            with lock:
                kept.append(evidence)

        campaign = Campaign("r1", [course], Launcher(), keep, lanes)
        campaign.go()
        return campaign, standing(course, campaign.trials)

    def stop(self):
        self.exchange.close()
        self.sandbox.stop()
