"""A group fails: which part of it, or which two parts together. Runs on the controller; pure.

Halves are tried first, at the same time. A half that fails is halved again. Where both halves are well and the whole fails, quarters of
one half run with quarters of the other, in two rounds, until a pair is left or no combination fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fleetcheck.collective.rounds import Planned, Round
from fleetcheck.collective.trial import Trial

Members = tuple[str, ...]


def next_groups(failed: Members, trials: Sequence[Trial]) -> Round:
    """The next round for a group that failed; empty when no smaller group can tell more. trials: all so far."""
    outcome = {frozenset(trial.members): trial.outcome == "ok" for trial in trials}
    used: set[str] = set()
    chosen = []
    for members in _open(tuple(failed), outcome):
        if used.isdisjoint(members) and members not in chosen:
            used.update(members)
            chosen.append(members)
    return tuple(Planned("pair" if len(members) == 2 else "group", members, f"part of {len(failed)} nodes that fail") for members in chosen)


def smallest(failed: Members, trials: Sequence[Trial]) -> list[Members]:
    """The smallest groups within a failed one that fail: where the parts of each are well or cannot be tried."""
    outcome = {frozenset(trial.members): trial.outcome == "ok" for trial in trials}
    return sorted(set(_leaves(tuple(failed), outcome)))


def halves(members: Members) -> tuple[Members, Members]:
    """The group cut in two, in order.

    >>> halves(tuple("abcde"))
    (('a', 'b', 'c'), ('d', 'e'))
    """
    middle = (len(members) + 1) // 2
    return members[:middle], members[middle:]


def crossings(members: Members) -> tuple[tuple[Members, Members], tuple[Members, Members]]:
    """Quarters of the two halves together, in two rounds: each round uses every node once.

    >>> crossings(tuple("abcd"))
    ((('a', 'c'), ('b', 'd')), (('a', 'd'), ('b', 'c')))
    """
    (one, two), (three, four) = (halves(half) for half in halves(members))
    return (one + three, two + four), (one + four, two + three)


def _parts(members: Members, outcome: dict[frozenset[str], bool]) -> list[Members]:
    """What to try of a failed group: halves; both being well, the crossings."""
    both = [half for half in halves(members) if len(half) > 1]
    if len(members) == 2 or not all(outcome.get(frozenset(half), False) for half in both):
        return both if len(members) > 2 else []
    return [part for turn in crossings(members) for part in turn if 1 < len(part) < len(members)]


def _open(members: Members, outcome: dict[frozenset[str], bool]) -> Iterator[Members]:
    """Groups not tried yet, below a failed one."""
    for part in _parts(members, outcome):
        known = outcome.get(frozenset(part))
        if known is None:
            yield part
        elif not known:
            yield from _open(part, outcome)


def _leaves(members: Members, outcome: dict[frozenset[str], bool]) -> Iterator[Members]:
    failing = [part for part in _parts(members, outcome) if outcome.get(frozenset(part)) is False]
    if not failing:
        yield members
    for part in failing:
        yield from _leaves(part, outcome)
