"""Runs on the node: the services a training node lives by, and every unit that failed."""

from typing import Any, Dict

from fleetcheck.node.collectors import systemd
from fleetcheck.node.host import Host

READS = (
    ("systemctl is-active", "any user"),
    ("systemctl show", "any user"),
    ("systemctl --failed", "any user"),
)

USUAL = (
    "nvidia-fabricmanager",
    "nvidia-imex",
    "nvidia-persistenced",
    "nvidia-dcgm",
    "dcgm-exporter",
    "node_exporter",
    "slurmd",
    "munge",
    "containerd",
    "docker",
)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{units: {name: …}, failed: [unit]}: the usual units and those the profile names."""
    names = sorted(set(USUAL) | set(settings.get("units", ())))
    return {"units": {name: systemd.unit(host, name) for name in names}, "failed": systemd.failed(host)}
