"""Ways to run one payload on one node with a deadline: one file each, one Protocol. They run on the controller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fleetcheck.nodes import Node
from fleetcheck.transport.attempt import Attempt


class TransportError(Exception):
    """A node that could not be asked. kind: as in records.Failure; message: evidence and advice, without the node's name.

    passing: the other side was merely busy (MaxStartups), so that another try makes sense.
    """

    def __init__(self, kind: str, message: str, passing: bool = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.passing = passing


@dataclass(frozen=True)
class Task:
    """What is run: a line for the login shell, and its standard input, which stays open until the end."""

    command: str
    stdin: bytes


class Transport(Protocol):
    """One way to a node."""

    def run(self, node: Node, task: Task, attempt: Attempt) -> int | None:
        """Run the task, its output going to ``attempt.intake``; the exit status, None when it was not awaited.

        Raises TransportError when the task could not be started. Once ``attempt.over`` is set, whatever it was waiting for
        has been closed and it returns or raises at once.
        """
        ...

    def close(self) -> None:
        """Close what outlives single attempts."""
        ...
