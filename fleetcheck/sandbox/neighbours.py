"""What a simulated node hears from the other ends of its cables: lldpctl for Ethernet, smpquery for InfiniBand. Pure."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from fleetcheck.cabled import End
from fleetcheck.sandbox.tree import Tree

Answers = dict[str, dict[str, Any]]
INFINIBAND = "/sys/class/infiniband"


def answers(cables: Mapping[str, End | None], tree: Tree) -> Answers:
    """Of both programs, for cables that end so; None: nothing is heard there. A node without cables has neither program."""
    found: Answers = {}
    heard: dict[str, End] = {}
    for device, end in cables.items():
        if _content(tree, f"{INFINIBAND}/{device}/ports/1/link_layer").strip() == "InfiniBand":
            found |= queries(device, end)
        elif end is not None:
            heard[_interface(tree, device)] = end
    return {**found, "lldpctl json": {"stdout": lldp(heard)}} if cables else {}


def lldp(heard: Mapping[str, End]) -> str:
    """``lldpctl -f json``: a mapping for one interface, a list for several, as it writes them."""
    entries = [{interface: neighbour(end)} for interface, end in heard.items()]
    return json.dumps({"lldp": {"interface": entries[0] if len(entries) == 1 else entries} if entries else {}}, indent=2) + "\n"


def neighbour(end: End) -> dict[str, Any]:
    """A switch that tells its name, and its port by name."""
    chassis = {"id": {"type": "mac", "value": f"02:{uuid.uuid5(uuid.NAMESPACE_DNS, end.switch).hex[:10]}"}, "descr": "switch",
               "capability": [{"type": "Bridge", "enabled": True}]}
    return {"via": "LLDP", "rid": "1", "age": "2 days, 07:11:40", "chassis": {end.switch: chassis},
            "port": {"id": {"type": "ifname", "value": end.port or "p1"}, "descr": end.port or "p1", "ttl": "120"}}


def queries(device: str, end: End | None) -> Answers:
    """``smpquery -D nodeinfo 0,1`` and ``nodedesc`` over one device; a query that nobody answers ends as it does there."""
    if end is None:
        return {f"smpquery {what} {device}": lost(what) for what in ("nodeinfo", "nodedesc")}
    guid = f"0x{uuid.uuid5(uuid.NAMESPACE_DNS, end.switch).hex[:16]}"
    rows = {"BaseVers": 1, "ClassVers": 1, "NodeType": "Switch", "NumPorts": 65, "SystemGuid": guid, "Guid": guid, "PortGuid": guid,
            "PartCap": 32, "DevId": "0xd2f2", "Revision": "0x000000a0", "LocalPort": end.port or 1, "VendorId": "0x0002c9"}
    info = "# Node info: DR path slid 65535; dlid 65535; 0,1\n" + "".join(f"{name + ':':.<33}{value}\n" for name, value in rows.items())
    name = f"MF0;{end.switch}:MQM9700/U1"
    description = f"Node Description:{'.' * max(32 - len(name), 1)}{name}\n"
    return {f"smpquery nodeinfo {device}": {"stdout": info}, f"smpquery nodedesc {device}": {"stdout": description}}


def lost(what: str) -> dict[str, Any]:
    """A query without an answer: the library warns on standard error, the program complains on standard output and ends with 255."""
    return {"stdout": f"smpquery: iberror: failed: operation {what}: node info query failed\n",
            "stderr": "ibwarn: [4711] mad_rpc: _do_madrpc failed; dport (DR path slid 65535; dlid 65535; 0,1)\n", "exit": 255}


def _content(tree: Tree, path: str) -> str:
    content = tree.files.get(tree.resolved(path))
    return content if isinstance(content, str) else ""


def _interface(tree: Tree, device: str) -> str:
    """The network interface of an RDMA device; an interface is its own."""
    folder = tree.resolved(f"{INFINIBAND}/{device}/device/net") + "/"
    return next((path[len(folder):].partition("/")[0] for path in tree.files if path.startswith(folder)), device)
