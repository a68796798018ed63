"""What the members of a trial say of their ranks. Runs on the controller; pure.

Read with care: it may be cut, of another shape, or hostile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fleetcheck.quoting import escaped
from fleetcheck.records import Answer, Evidence, Failure

WORD, OUTPUT = 500, 4096


@dataclass(frozen=True, slots=True)
class Measured:
    """One rank's figures of one collective at one size. seconds: of each iteration; entered: seconds since all clocks started together
    at which it came to each round; sender, receiver: numbers of nodes, -1 where it has no direction; wrong_from: rank → elements."""

    op: str
    size: int
    moved: int
    rail: str = ""
    sender: int = -1
    receiver: int = -1
    seconds: tuple[float, ...] = ()
    entered: tuple[float, ...] = ()
    wrong: int = 0
    wrong_from: Mapping[str, int] = field(default_factory=dict)
    phases: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class Rank:
    """One rank. ended: ``exit 0``, ``signal 9``, ``timeout``; at: where it last stood; failed: the kind of trouble that it told."""

    number: int
    local: int
    arrived: bool
    ended: str
    at: str
    failed: str
    why: str
    missing: tuple[int, ...]
    measured: tuple[Measured, ...]
    output: str = ""
    transport: tuple[str, ...] = ()
    software: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """What one node says of a trial. failure: why it says nothing; failed, why: the first trouble of its ranks, or of starting them."""

    node: str
    failure: Failure | None = None
    arrived: bool = False
    failed: str = ""
    why: str = ""
    boot_id: str = ""
    ranks: tuple[Rank, ...] = ()


def member(evidence: Evidence, collector: str = "rank_run") -> Member:
    """The member's words; what cannot be read is its failure."""
    if evidence.failure:
        return Member(evidence.node, evidence.failure)
    answer = evidence.answers.get(collector, Answer(ok=False, error="no answer"))
    if not answer.ok:
        return Member(evidence.node, Failure("node-code", escaped(f"{evidence.node}: {collector}: {answer.error:.300}")))
    try:
        return _member(evidence.node, answer.data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        shape = f"{evidence.node}: {collector}: an answer of another shape ({type(error).__name__}: {error!s:.100})"
        return Member(evidence.node, Failure("garbled", escaped(shape)))


def _member(node: str, told: Mapping[str, Any]) -> Member:
    return Member(node, None, told["arrived"] is True, _word(told["failed"]), _word(told["why"]), _word(told.get("boot_id")),
                  tuple(_rank(each) for each in told["ranks"]))


def _rank(told: Mapping[str, Any]) -> Rank:
    software = told.get("software") or {}
    return Rank(
        _count(told["rank"]), _count(told["local_rank"]), told["arrived"] is True, _word(told["ended"]), _word(told["at"]),
        _word(told["failed"]), _word(told["why"]), tuple(_count(each) for each in told["missing"]),
        tuple(_measured(each) for each in told["bench"]), _text(told["output"], OUTPUT),
        tuple(_word(line) for line in told["transport"]), {str(name): _word(value) for name, value in software.items()})


def _measured(told: Mapping[str, Any]) -> Measured:
    phases = {name: _seconds(told[name]) for name in ("alone_compute", "alone_communication", "together") if name in told}
    return Measured(
        _word(told["op"]), _count(told["bytes"]), _count(told.get("moved_bytes", 0)), _word(told.get("rail", "")),
        _count(told.get("from", -1), -1), _count(told.get("to", -1), -1), _seconds(told.get("seconds", ())),
        _seconds(told.get("entered", ())), _count(told.get("wrong", 0)),
        {str(_count(int(rank))) if rank else "": _count(count) for rank, count in told.get("wrong_from", {}).items()}, phases,
        _word(told.get("skipped", "")))


def _seconds(told: Any) -> tuple[float, ...]:
    """Durations: finite and not negative."""
    found = tuple(float(each) for each in told if not isinstance(each, bool))
    if len(found) != len(told) or not all(math.isfinite(each) and each >= 0 for each in found):
        raise ValueError("no seconds")
    return found


def _count(told: Any, least: int = 0) -> int:
    if isinstance(told, bool) or not isinstance(told, int) or not least <= told < 1 << 62:
        raise ValueError(f"no count: {told!r:.40}")
    return told


def _word(told: Any) -> str:
    """Printable text of one line, whatever was told; a leaf that was not measured is none."""
    return _text(told, WORD).replace("\n", " ") if isinstance(told, str) else ""


def _text(told: Any, most: int) -> str:
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in str(told)[:most])
