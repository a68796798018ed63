"""Transport ``local``: the node is this machine; the same line runs in a shell of its own."""

from __future__ import annotations

import os

from fleetcheck.nodes import Node
from fleetcheck.transport import Task, programs
from fleetcheck.transport.attempt import Attempt


class Local:
    """No connection, no state."""

    def run(self, node: Node, task: Task, attempt: Attempt) -> int | None:
        """As Transport.run."""
        return programs.converse(["/bin/sh", "-c", task.command], task.stdin, attempt, os.environ)

    def close(self) -> None:
        """Nothing outlives an attempt."""
