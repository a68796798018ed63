"""From what the members of a trial say to a Trial, or to why there is none. Runs on the controller; pure.

Software, configuration and trouble on this side make no trial: nothing was learned of the interconnect. A rank that never arrived, one
that stopped and one whose data were wrong are outcomes; who is to blame for them is `localise.py`'s word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fleetcheck.collective.bench import Bench, expected, size_label
from fleetcheck.collective.figures import slowest, values
from fleetcheck.collective.ranks import Member, Rank
from fleetcheck.collective.trial import Report, Trial
from fleetcheck.quoting import escaped
from fleetcheck.records import GIVEN_UP, Failure

NOT_READY = {
    "no-torch": "torch_python of the inventory", "no-device": "the node's accelerators", "name": "DNS or /etc/hosts of this node",
    "port-taken": "what listens there, or another range of ports", "memory": "what else holds memory there, or smaller sizes",
}
"""What a rank may say that is no word about the interconnect, and where to look."""
REACHING = ("refused", "no-route", "connect-timeout")
"""What a rank meets that does not reach the master."""
ABORTED = (
    ("timeout", re.compile(r"Watchdog caught collective operation timeout")),
    ("peer-lost", re.compile(r"remote process exited|closed by remote peer|ncclRemoteError|Connection reset by peer", re.IGNORECASE)),
)
"""What NCCL and its watchdog say before they abort a rank for what another one did."""
DURING = ("disconnected", "deadline", "truncated")
"""Failures of asking that may be the trial's own doing: the node was reached, and then was not."""


@dataclass(frozen=True)
class TrialRun:
    """A trial that was tried. trial: None when it says nothing of the interconnect; refused: node → why it could not take part."""

    trial: Trial | None
    refused: Mapping[str, Failure] = field(default_factory=dict)
    members: tuple[Member, ...] = ()


def trial_of(id_: str, round_: int, kind: str, members: Sequence[Member], benches: Sequence[Bench]) -> TrialRun:
    """The trial. members: in the order of their ranks."""
    refused = dict(_refused(members, benches))
    if refused:
        return TrialRun(None, refused, tuple(members))
    ranks = [rank for member in members for rank in member.ranks]
    outcome = _outcome(members, ranks)
    names = tuple(member.node for member in members)
    figures = () if outcome in ("crash", "timeout") else values(ranks, names)
    slow = slowest(ranks) if figures else None
    reports = tuple(_report(member, ranks, slow, bool(figures)) for member in members)
    trial = Trial(id_, round_, kind, names, outcome, figures, reports, escaped("; ".join(_words(members, outcome))))
    return TrialRun(trial, {}, tuple(members))


def _refused(members: Sequence[Member], benches: Sequence[Bench]) -> Iterator[tuple[str, Failure]]:
    for member in members:
        if member.failure and (member.failure.kind not in DURING or GIVEN_UP in member.failure.message):
            yield member.node, member.failure
        elif member.failed in NOT_READY:
            yield member.node, Failure("not-ready", escaped(f"{member.node}: it cannot take part: {member.why}; look at "
                                                             f"{NOT_READY[member.failed]}"))
        elif member.ranks and _well(member) and _lacks(member, benches):
            yield member.node, Failure("garbled", escaped(f"{member.node}: its ranks ended well and told no figures of "
                                                           f"{', '.join(_lacks(member, benches)):.200}"))


def _well(member: Member) -> bool:
    return all(rank.ended == "exit 0" and not rank.failed for rank in member.ranks)


def _lacks(member: Member, benches: Sequence[Bench]) -> list[str]:
    """Which of the benchmarks some rank does not tell of; of send and receive not every node has part in each direction."""
    return [f"{op} of {size_label(size)}" for op, size in expected(benches) if op != "send_recv"
            and not all(any(one.op == op and one.size == size for one in rank.measured) for rank in member.ranks)]


def _outcome(members: Sequence[Member], ranks: Sequence[Rank]) -> str:
    """crash before timeout before wrong data: who died first makes the others wait."""
    if any(_died(rank) for rank in ranks) or any(member.failure and member.failure.kind == "disconnected" for member in members):
        return "crash"
    if any(member.failure or not member.arrived for member in members) or any(_trouble(rank) in ("timeout", "missing") for rank in ranks):
        return "timeout"
    if not all(_well(member) for member in members):
        return "crash"
    return "wrong-data" if any(one.wrong for rank in ranks for one in rank.measured) else "ok"


def _trouble(rank: Rank) -> str:
    """What it told of itself; of one that NCCL's watchdog aborted, what the watchdog said."""
    if rank.failed not in ("", "broken"):
        return rank.failed
    words = "\n".join((*rank.transport, rank.output))
    return next((kind for kind, said in ABORTED if said.search(words)), rank.failed)


def _died(rank: Rank) -> bool:
    """It ended by itself, and not as the victim of another: those lose their peer or wait in vain."""
    if _trouble(rank) not in ("", "broken"):
        return False
    return rank.ended.startswith("signal") or rank.ended not in ("exit 0", "timeout")


def _report(member: Member, ranks: Sequence[Rank], slow: int | None, measured: bool) -> Report:
    mine = {rank.number for rank in member.ranks}
    accused = [whose for rank in ranks for each in rank.measured for whose in each.wrong_from]
    wrong = True if any(whose and int(whose) in mine for whose in accused) else None if accused or not measured else False
    worst = next((rank for rank in member.ranks if rank.ended != "exit 0"), member.ranks[0] if member.ranks else None)
    ended = member.failure.kind if member.failure else worst.ended if worst else ""
    arrived = None if _in_vain(member, ranks) else member.arrived
    return Report(member.node, arrived, wrong, slow in mine if measured else None, ended)


def _in_vain(member: Member, ranks: Sequence[Rank]) -> bool:
    """It came, and there was no master to reach: whether it would have arrived is not known."""
    return not member.arrived and member.failed in REACHING and not any(rank.number == 0 and rank.arrived for rank in ranks)


def _words(members: Sequence[Member], outcome: str) -> Iterator[str]:
    """What an operator needs: first who never arrived, then who stopped where, culprits before victims, then wrong data."""
    ranks = [rank for member in members for rank in member.ranks]
    for member in members:
        if member.failure:
            yield member.failure.message
    for member in sorted(members, key=lambda one: _in_vain(one, ranks)):
        absent = [rank for rank in member.ranks if not rank.arrived]
        if absent:
            came = "waited for the master" if _in_vain(member, ranks) else "never arrived"
            yield f"{_ranks(absent)} of {member.node} {came}: {_why(absent[0])}"
    for member in sorted(members, key=lambda one: min((_guilt(rank) for rank in one.ranks), default=0)):
        stopped = [rank for rank in member.ranks if rank.arrived and (rank.failed or rank.ended != "exit 0") and rank.failed != "missing"]
        if stopped:
            yield f"{_ranks(stopped)} of {member.node}: {_why(stopped[0])}"
    if outcome == "wrong-data":
        yield from _wrong(members)


def _why(rank: Rank) -> str:
    """How one rank ended, in words."""
    said = rank.why or (rank.output.strip().splitlines() or [""])[-1][:200]
    if rank.ended == "timeout" or (rank.failed and not rank.arrived):
        return said
    return f"{rank.ended} in {rank.at}" + (f", saying {said!r}" if said else "")


def _guilt(rank: Rank) -> int:
    """0 for one that died by itself, 1 for one that hung, 2 for those that only met that, 3 for those without trouble."""
    return 0 if _died(rank) else 1 if rank.ended == "timeout" else 2 if _trouble(rank) else 3


def _wrong(members: Sequence[Member]) -> Iterator[str]:
    for member in members:
        found = [one for rank in member.ranks for one in rank.measured if one.wrong]
        if found:
            total, senders = sum(one.wrong for one in found), {whose for one in found for whose in one.wrong_from if whose}
            sent = f", those of single senders sent by rank {', '.join(sorted(senders))}" if senders else ""
            yield f"{member.node} got {total} wrong elements, first in {found[0].op} of {size_label(found[0].size)}{sent}"


def _ranks(ranks: Sequence[Rank]) -> str:
    """``rank 3`` or ``ranks 2, 3``."""
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {', '.join(str(rank.number) for rank in ranks[:32])}"
