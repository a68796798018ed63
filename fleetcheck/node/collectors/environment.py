"""Runs on the node: the NCCL, UCX and CUDA variables that every login gets, with their values; nobody's own are read."""

import re
from typing import Any, Dict

from fleetcheck.node.host import Host

READS = (
    ("/etc/environment", "any user"),
    ("/etc/profile.d", "any user"),
    ("/etc/environment.d", "any user"),
    ("/etc/nccl.conf", "any user"),
)

SETTING = re.compile(r"^\s*(?:export\s+)?((?:NCCL|UCX|CUDA|NVIDIA)_\w+)\s*=\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s;#]*))", re.MULTILINE)


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{variables: [{name, value, file}]}; a file that is not there sets none."""
    found = []
    paths = ["/etc/environment", "/etc/nccl.conf"] + host.glob("/etc/profile.d/*.sh") + host.glob("/etc/environment.d/*.conf")
    for path in filter(host.exists, paths):
        said = host.read_or_absent(path)
        if isinstance(said, dict):
            return {"variables": said}
        found += [{"name": row[0], "value": (row[1] or row[2] or row[3])[:200], "file": path} for row in SETTING.findall(said)]
    return {"variables": found}
