"""Runs on the node: its ranks of one trial of several nodes, from their start to their end."""

from typing import Any, Dict

from fleetcheck.node.host import Host

READS = (
    ("torch_python of the inventory, import torch", "any user"),
    ("/sys/class/net", "any user"),
    ("/sys/class/infiniband", "any user"),
    ("/proc/net/snmp", "any user"),
    ("/dev/kmsg", "root or kernel.dmesg_restrict=0"),
    ("/proc/sys/kernel/random/boot_id", "any user"),
)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{arrived, failed, why, seconds, boot_id, ranks, before, after, kernel}."""
    from fleetcheck.node.ranks.run import run  # only archives for ranks hold it

    return dict(run(host, settings["trial"]))
