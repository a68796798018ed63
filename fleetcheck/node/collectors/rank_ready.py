"""Runs on the node: whether it can take part in a trial of several nodes: torch, accelerators, addresses, free ports, names."""

from typing import Any, Dict

from fleetcheck.node.host import Host

READS = (
    ("torch_python of the inventory, import torch", "any user"),
    ("/proc/net/if_inet6", "any user"),
    ("/proc/sys/net/ipv4/ip_local_port_range", "any user"),
)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{software, said, accelerators, addresses, free_ports, partners}."""
    from fleetcheck.node.ranks.ready import ready  # only archives for ranks hold it

    return dict(ready(host, settings["trial"]))
