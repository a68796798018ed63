"""The order of a fleet run: a node's items run once what they read is answered, whoever comes first. Runs on the controller.

A node that never answers would otherwise hold up the verdicts of all that stand behind it in the inventory, and a load of a night
those of the facts of its own node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest

from fleetcheck.at_hand import Source
from fleetcheck.exitcode import INTERNAL
from fleetcheck.facts.registry import PAIRS
from fleetcheck.fleet import Fleet
from fleetcheck.records import Share
from fleetcheck.run import RunError
from fleetcheck.selection import owner
from fleetcheck.session import PLANNED, fleet_of


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """pytest's own loop, in the order of the answers; left to pytest when no node was asked.

    Who comes next is unknown until then, so after a node only what belongs to the whole session stays set up.
    """
    fleet = fleet_of(session.config)
    if fleet is None or fleet.source is None:
        return None
    for items in in_turn(session.items, fleet.source, partial(_try_together, fleet)):
        for item, following in zip(items, [*items[1:], session], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
    return True


def _try_together(fleet: Fleet) -> None:
    """A disk that refuses ends the run, as everywhere."""
    try:
        fleet.try_together()
    except RunError as full:
        pytest.exit(str(full), returncode=INTERNAL)


def in_turn(items: list[pytest.Item], source: Source, try_together: Callable[[], object] = lambda: None) -> Iterator[list[pytest.Item]]:
    """The items of each node and stage, in the order in which their probes are answered; those of the fleet last.

    try_together: done once, when all that single nodes show by themselves is judged.
    """
    shares: dict[Share, list[pytest.Item]] = {}
    for item in items:
        shares.setdefault((owner(item), item.stash[PLANNED].stage if owner(item) else ""), []).append(item)
    fleetwide = shares.pop(("", ""), [])
    wanted = {share: probes(own) for share, own in shares.items()}
    alone = {share for share, needed in wanted.items() if PAIRS not in needed}
    if not alone:
        try_together()
    for share in source.turns(wanted):
        yield shares.pop(share)
        if share in alone:
            alone.remove(share)
            if not alone:
                try_together()
    if fleetwide:
        yield fleetwide


def probes(items: list[pytest.Item]) -> set[str]:
    """What these items read of their node."""
    return {probe for item in items for probe in item.stash[PLANNED].probes}
