"""Runs on the node: what is at the other end of its cables: LLDP for Ethernet, one query along the cable for InfiniBand.

The fabric is not walked: each port asks the one node at its own other end (direct route ``0,1``), so that 4,096 nodes may ask at once.
"""

import re
from typing import Any, Dict, List

from fleetcheck.node.collectors.counted import at_once, document, excerpt
from fleetcheck.node.collectors.values import names, number, output, text
from fleetcheck.node.host import Host

READS = (
    ("/sys/class/infiniband", "any user"),
    ("/sys/class/net", "any user"),
    ("lldpctl -f json", "root or group _lldpd or group lldpd"),
    ("smpquery", "root"),
)

IB, NET = "/sys/class/infiniband", "/sys/class/net"
LLDP_SECONDS, QUERY_SECONDS, EACH_SECONDS = 10, 8, 30
MOST_NEIGHBOURS, MOST_TEXT = 16, 120


def collect(host: Host, settings: Dict[str, Any]) -> Dict[str, Any]:
    """{ends: {device: {link, neighbours: [{switch: [names], port: [names], how}]}}} of the devices that the inventory cables."""
    asked = [str(name) for name in settings.get("cables") or ()]
    fabric = [name for name in asked if text(host, "%s/%s/ports/1/link_layer" % (IB, name)) == "InfiniBand"]
    heard = {} if len(fabric) == len(asked) else lldp(document(output(host, ["lldpctl", "-f", "json"], LLDP_SECONDS), "lldpctl"))
    ends = at_once(fabric, lambda name: beyond(host, name), EACH_SECONDS) if fabric else {}
    ends.update((name, ethernet(host, name, heard)) for name in asked if name not in ends)
    return {"ends": ends}


def ethernet(host: Host, name: str, heard: Dict[str, Any]) -> Dict[str, Any]:
    """What an interface, or the one of an RDMA device, heard from its switch."""
    interface = name
    if host.exists("%s/%s" % (IB, name)):
        found = names(host, "%s/%s/device/net" % (IB, name))
        if isinstance(found, dict) or len(found) != 1:
            why = found if isinstance(found, dict) else {"absent": "it has %d network interfaces" % len(found)}
            return {"link": why, "neighbours": why}
        interface = found[0]
    if not host.exists("%s/%s" % (NET, interface)):
        return {"link": "not present", "neighbours": []}
    carrier = number(host, "%s/%s/carrier" % (NET, interface))
    link = carrier if isinstance(carrier, dict) else "up" if carrier == 1 else "no carrier"
    return {"link": link, "neighbours": heard if set(heard) == {"absent"} else heard.get(interface, [])}


def lldp(said: Dict[str, Any]) -> Dict[str, Any]:
    """{interface: [neighbour]} of ``lldpctl -f json``: one interface is a mapping, several a list of them; absent passes through."""
    if set(said) == {"absent"}:
        return said
    table = said.get("lldp")
    if not isinstance(table, dict):
        return {"absent": "lldpctl printed no lldp section"}
    entries = table.get("interface", [])
    found = {}  # type: Dict[str, Any]
    for entry in entries if isinstance(entries, list) else [entries]:
        for name, told in entry.items() if isinstance(entry, dict) else ():
            if isinstance(told, dict) and str(told.get("via", "LLDP")) == "LLDP" and len(found.setdefault(name, [])) < MOST_NEIGHBOURS:
                found[name].append(neighbour(told))
    return found


def neighbour(told: Dict[str, Any]) -> Dict[str, Any]:
    """A switch by its name and id, its port by id and description."""
    chassis, port = told.get("chassis"), told.get("port")
    switch = []  # type: List[Any]
    if isinstance(chassis, dict):
        named = [key for key, value in chassis.items() if isinstance(value, dict) and key not in ("id", "mgmt-ip", "capability")]
        inner = chassis[named[0]] if len(named) == 1 and "id" not in chassis else chassis
        switch = named[:1] if inner is not chassis else []
        switch.append(value_of(inner.get("id")))
    return {"switch": texts(switch), "port": texts(names_of(port)), "how": "LLDP"}


def names_of(port: Any) -> List[Any]:
    """Id and description of a port; one whose id is a hardware address is known by its description."""
    if not isinstance(port, dict):
        return []
    found = [value_of(port.get("id")), port.get("descr")]
    return found[::-1] if isinstance(port.get("id"), dict) and port["id"].get("type") == "mac" else found


def value_of(told: Any) -> Any:
    """The value of ``{"type": "ifname", "value": "swp1"}``."""
    return told.get("value") if isinstance(told, dict) else None


def texts(values: List[Any]) -> List[str]:
    """The texts among them, each once, none too long."""
    return list(dict.fromkeys(value.strip()[:MOST_TEXT] for value in values if isinstance(value, str) and value.strip()))


def beyond(host: Host, name: str) -> Dict[str, Any]:
    """What is at the other end of port 1 of an InfiniBand device: description, GUID, and the port at which our query came in."""
    link = re.sub(r"^\d+:\s*", "", str(text(host, "%s/%s/ports/1/phys_state" % (IB, name))))
    if link.replace(" ", "") != "LinkUp":
        return {"link": link, "neighbours": []}
    info = fields(output(host, query(name, "nodeinfo"), QUERY_SECONDS))
    description = fields(output(host, query(name, "nodedesc"), QUERY_SECONDS))
    for told, wanted in ((info, "LocalPort"), (description, "Node Description")):
        if set(told) == {"absent"} or wanted not in told:
            return {"link": "up", "neighbours": told if set(told) == {"absent"} else {"absent": "smpquery told no %s" % wanted}}
    said = description["Node Description"]
    host_name = re.match(r"MF0;([^:;]+):", said)  # how a managed switch writes its own name
    switch = [host_name.group(1) if host_name else "", said, info.get("Guid", "")]
    return {"link": "up", "neighbours": [{"switch": texts(switch), "port": texts([info["LocalPort"]]), "how": "InfiniBand"}]}


def query(name: str, what: str) -> List[str]:
    """One management packet to whatever is at the other end of the cable."""
    return ["smpquery", "-C", name, "-P", "1", "-D", what, "0,1"]


def fields(said: Dict[str, Any]) -> Dict[str, Any]:
    """The lines ``LocalPort:.......................9``; absent when the query was not answered."""
    if "absent" in said:
        return said
    if said["status"] != 0:
        return {"absent": "smpquery ended with %d: %s" % (said["status"], excerpt(said))}
    return dict(re.findall(r"^([A-Za-z ]+):\.*[ \t]*([^.\s].*?)[ \t]*$", said["stdout"], re.MULTILINE))
