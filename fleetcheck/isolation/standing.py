"""How a node stands with whoever hands out work, and what such a backend can do. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from fleetcheck.isolation.mark import Mark, read
from fleetcheck.report.lines import said


class BackendError(Exception):
    """A backend did not answer, or refused; the text says which, what was asked, and what it said."""


@dataclass(frozen=True)
class Standing:
    """state: in the backend's own words. held: somebody took the node out of service on purpose; reason, by: why and who.
    away: it gets no work though nobody holds it, such as one that is down. partitions: as the backend groups nodes.
    trouble: why nothing may be done to it; unsettled: why it may not be released yet. about: what the backend needs to change it.
    """

    state: str
    held: bool = False
    reason: str = ""
    by: str = ""
    away: bool = False
    partitions: tuple[str, ...] = ()
    trouble: str = ""
    unsettled: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def mark(self) -> Mark | None:
        """Ours, when the node is held and by us."""
        return read(self.reason) if self.held else None

    @property
    def out(self) -> bool:
        """Whether the node gets no new work."""
        return self.held or self.away

    def __str__(self) -> str:
        """For people."""
        why = f", {said(self.reason)!r}" if self.reason else ""
        return f"{said(self.state, 60)}{f' by {said(self.by, 40)}' if self.by else ''}{why}"


class Backend(Protocol):
    """Whoever hands out work. Every call has a deadline and raises BackendError."""

    name: str

    def read(self, nodes: Collection[str]) -> Mapping[str, Standing]:
        """How these nodes stand; one that the backend does not know is left out."""

    def isolate(self, node: str, reason: str, seen: Standing) -> None:
        """Let the node get no new work; what runs there runs on. seen: how it stood a moment ago."""

    def release(self, node: str, seen: Standing) -> None:
        """Take back what ``isolate`` did, and only that."""

    def shown(self, kind: str, node: str, reason: str) -> str:
        """Exactly what ``isolate`` or ``release`` would do, on one line."""
