"""What the programs of a healthy node print. Controller side."""

from __future__ import annotations

from typing import Any

from fleetcheck.sandbox.machine.node import Node


def commands(node: Node) -> dict[str, dict[str, Any]]:
    """Program and words → its output."""
    return {"hostname": {"stdout": f"{node.name}\n"}}
