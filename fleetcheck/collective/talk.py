"""How the ranks of a node talk, as its inventory says under ``interconnect``. Runs on the controller; pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetcheck.nodes import Node

PORTS = "29500-29599"
PATIENCE = ("rendezvous_seconds", "stall_seconds", "seconds")


def interface(node: Node) -> str:
    """Over which sockets go; "" for what the library finds."""
    return str(_said(node).get("interface") or "")


def device(node: Node) -> str:
    """auto, cuda or cpu; what stands in under load stands in here too."""
    return str(_said(node).get("device") or (node.load or {}).get("device") or "auto")


def per_node(node: Node) -> int | None:
    """Ranks of the node; None for one an accelerator."""
    told = _said(node).get("per_node")
    return int(told) if told else None


def ports(nodes: Sequence[Node]) -> str:
    """Where a master may listen: the first node's word."""
    return next((str(said) for node in nodes if (said := _said(node).get("ports"))), PORTS)


def most_bytes(node: Node) -> int | None:
    """The largest message; None for no limit but memory."""
    told = _said(node).get("most_bytes")
    return int(told) if told else None


def patience(nodes: Sequence[Node]) -> dict[str, Any]:
    """Seconds that the inventory gives trials of these nodes: the first node's word on each."""
    told = {name: [float(said) for node in nodes if (said := _said(node).get(name))] for name in PATIENCE}
    return {name: given[0] for name, given in told.items() if given}


def torch(node: Node) -> dict[str, Any]:
    """The node's torch, and the words of a container's command before it."""
    return {"torch_python": node.torch_python or "", "prefix": list((node.load or {}).get("prefix") or ()), "device": device(node)}


def environment(node: Node) -> dict[str, str]:
    """What the libraries find in their environment.

    >>> environment(Node("n", "n", "p", interconnect={"interface": "bond0", "hcas": ["mlx5_0", "mlx5_3"]}))["NCCL_IB_HCA"]
    'mlx5_0,mlx5_3'
    """
    said = _said(node)
    found: dict[str, str] = {"NCCL_SOCKET_IFNAME": interface(node), "GLOO_SOCKET_IFNAME": interface(node)} if interface(node) else {}
    if said.get("hcas"):
        found["NCCL_IB_HCA"] = ",".join(map(str, said["hcas"]))
    if said.get("plugin"):
        found["NCCL_NET_PLUGIN"] = str(said["plugin"])
    return {**found, **{str(name): str(value) for name, value in (said.get("environment") or {}).items()}}


def _said(node: Node) -> Mapping[str, Any]:
    return node.interconnect or {}
