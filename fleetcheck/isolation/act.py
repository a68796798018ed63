"""One act on one node, or why there is none. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

ISOLATE, RELEASE = "isolate", "release"
DO, LEAVE, REFUSE = "do", "leave", "refuse"


@dataclass(frozen=True)
class Act:
    """kind: isolate or release. decision: do; leave, since nothing is to be done; refuse, by a guard. why: in words for the operator.
    reason: what the backend is to be told."""

    kind: str
    node: str
    decision: str
    why: str
    guard: str = ""
    reason: str = ""

    def refused(self, guard: str, why: str) -> Act:
        """The same, not to be done."""
        return replace(self, decision=REFUSE, guard=guard, why=why)


@dataclass(frozen=True)
class Plan:
    """What a run asks for. notes: what an operator should know beside it."""

    kind: str
    run: str
    acts: tuple[Act, ...] = ()
    notes: tuple[str, ...] = ()

    def decided(self, decision: str) -> Sequence[Act]:
        """The acts of one decision."""
        return [act for act in self.acts if act.decision == decision]
