"""Which PCI bridges and cards have Access Control Services switched on, as lspci tells (node side).

ACS sends peer-to-peer traffic up to the root complex; the register lies in extended configuration space, for root only.
"""

import re
from typing import Any, Dict

from fleetcheck.node.host import Host, absent

SECONDS = 8.0
DEVICE = re.compile(r"^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) (.*)$")
CONCERNED = re.compile(r"bridge|3D controller|VGA|infiniband|ethernet|network", re.IGNORECASE)
"""What lies on the way between a GPU and its peers: bridges, and the devices themselves (NVIDIA NCCL documentation, troubleshooting)."""


def bridges(host: Host) -> Dict[str, Any]:
    """Bridges, GPUs and network cards whose ACS register was told, those that validate sources, and whether this machine is virtual."""
    cpus = host.read_or_absent("/proc/cpuinfo")
    leaves = {"virtual": bool(re.search(r"^flags\s*:.*\bhypervisor\b", cpus, re.MULTILINE)) if isinstance(cpus, str) else cpus}
    try:
        done = host.run(["lspci", "-vvv"], SECONDS)
    except OSError as error:
        return dict(leaves, told=absent(error), enabled=absent(error))
    return dict(leaves, **parsed(done.stdout))


def parsed(text: str) -> Dict[str, Any]:
    """Addresses from the text of lspci -vvv.

    >>> parsed("00:01.0 PCI bridge: Intel\\n\\t\\tACSCtl:\\tSrcValid+ TransBlk-\\n")
    {'told': 1, 'enabled': ['00:01.0']}
    """
    address, told, enabled = "", 0, []
    for line in text.splitlines():
        device = DEVICE.match(line)
        if device:
            address = device.group(1) if CONCERNED.search(device.group(2)) else ""
        elif address and "ACSCtl:" in line:
            told += 1
            if "SrcValid+" in line:
                enabled.append(address)
    hidden = {"absent": "lspci shows no ACSCtl of any device: run as root (become: sudo -n)"}
    return {"told": told or hidden, "enabled": enabled if told else hidden}
