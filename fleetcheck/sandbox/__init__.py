"""A simulated fleet on this machine: real SSH endpoints, each with its own files, kernel log, commands and NVML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleetcheck.sandbox.errors import SandboxError

if TYPE_CHECKING:
    from fleetcheck.inventory import Inventory
    from fleetcheck.sandbox.fleet import Sandbox

__all__ = ["SandboxError", "start"]


def start(inventory: Inventory) -> Sandbox:
    """Simulate every node of an inventory with a ``sandbox:`` section.

    Returns a context manager with ``.inventory`` (every node's address, port and keys filled in) and ``.stop()``.
    Raises SandboxError, one line, with file and line where the description is at fault.
    """
    # Imported late: the server process loads this package too, and needs nothing of it.
    from fleetcheck.sandbox import fleet

    return fleet.start(inventory)
