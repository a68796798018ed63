"""getent, ping, stat, and the site's torch environment: what nodes of a fleet are given by their site."""

from __future__ import annotations

import json

from fleetcheck.sandbox.machine.commands.answers import Answers, fails, says
from fleetcheck.sandbox.machine.configuration import HOST_KEYS
from fleetcheck.sandbox.machine.node import Node

VERSIONS = {"torch": "2.8.0", "cuda": "12.8", "nccl": "2.27.3", "nccl_required": "2.27.3", "nccl_installed": "2.27.3",
            "plugin": "libnccl-net.so.0.0.0"}
"""As the torch wheel of that version pins them."""
HEAD = "head-01"


def commands(node: Node) -> Answers:
    """Names of the fleet resolve, host keys are private, torch-python has torch."""
    own = f"{node.identity.address} STREAM {node.name}.fleet.example\n{node.identity.address} DGRAM\n"
    answers = {
        "ping -M do": says("1508 bytes from 10.20.0.4: icmp_seq=1 ttl=64 time=0.211 ms\n"),
        "ping -c": says("64 bytes from 10.20.0.4: icmp_seq=1 ttl=64 time=0.093 ms\n"),
        "getent": fails("", 2), f"getent ahosts {node.name}": says(own),
        f"getent ahosts {HEAD}": says("10.20.0.4 STREAM head-01\n10.20.0.4 DGRAM\n"),
        "stat -c '%a %n'": says("".join(f"600 {path}\n" for path in HOST_KEYS)),
    }
    return answers | ({"torch-python -c": says(f"fleetcheck-versions {json.dumps(VERSIONS)}\n")} if node.slots else {})
