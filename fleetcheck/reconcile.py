"""Whether the plan and the outcomes agree, item by item: nothing lost, nothing twice, nothing out of nowhere. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fleetcheck.records import Planned, Result


@dataclass(frozen=True)
class Reconciliation:
    """missing: planned without an outcome; repeated: items with several; unplanned: outcomes nobody planned."""

    missing: tuple[Planned, ...]
    repeated: tuple[str, ...]
    unplanned: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Every planned item has exactly one outcome, and no other outcome exists."""
        return not (self.missing or self.repeated or self.unplanned)


def item(record: Planned | Result) -> str:
    """What identifies one selected (check, node): its node id, or check and node where a record carries none."""
    return record.nodeid or f"{record.check}[{record.node}]"


def reconcile(planned: Sequence[Planned], results: Sequence[Result]) -> Reconciliation:
    """Compare a plan with what came of it."""
    outcomes = Counter(item(result) for result in results)
    plans = {item(entry) for entry in planned}
    return Reconciliation(
        missing=tuple(entry for entry in planned if item(entry) not in outcomes),
        repeated=tuple(key for key, count in outcomes.items() if count > 1),
        unplanned=tuple(key for key in outcomes if key not in plans),
    )
