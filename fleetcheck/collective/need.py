"""What is still to be tried before anybody is blamed. Runs on the controller; pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Need:
    """One more trial of a node: again with the same partner, or with one known to be good, of those in among; why, in words."""

    node: str
    partner: str = ""
    among: frozenset[str] = frozenset()
    why: str = ""
