"""/var/log of a healthy node: what fabric manager and IMEX say after a good start."""

from __future__ import annotations

from fleetcheck.sandbox.machine.entries import Files
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.software import services

STARTED_SECONDS = 58


def own(node: Node) -> Files:
    """The logs of those of them that run on this node."""
    names = {service.unit for service in services(node.base)}
    files: Files = {}
    if "nvidia-fabricmanager" in names:
        files["/var/log/fabricmanager.log"] = _fabric_manager(node)
    if "nvidia-imex" in names:
        files["/var/log/nvidia-imex.log"] = _line(node, 2033, _running(node, "IMEX"))
    return files


def _line(node: Node, pid: int, text: str) -> str:
    return f"[{node.moment.since_boot(STARTED_SECONDS):%b %d %Y %H:%M:%S}] [INFO] [tid {pid}] {text}\n"


def _running(node: Node, program: str) -> str:
    return f"{program} version {node.base.versions.driver} is running with the following configuration options"


def _fabric_manager(node: Node) -> str:
    count = len(node.base.server.switches)
    texts = [_running(node, "Fabric Manager"), "Connected to 1 node.", "Getting fabric node FM version info"]
    if count:
        texts.append(f"detected system topology is based on {len(node.slots)} GPUs and {count} NVSwitches")
    texts.append("Successfully configured all the available NVSwitches to route GPU NVLink traffic. NVLink "
                 "Peer-to-Peer "
                 "support will be enabled once the GPUs are successfully registered with the NVLink fabric.")
    return "".join(_line(node, 2017, text) for text in texts)
