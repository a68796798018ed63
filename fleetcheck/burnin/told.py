"""What a node says of its load, read with care: it may be cut, of another shape, or hostile. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fleetcheck.records import Answer, Evidence, Failure

STARTED = ("started", "running", "refused", "ended", "rebooted", "gone")
STATES = ("running", "ended", "rebooted", "gone", "none")
ENDED = ("ended", "rebooted", "gone", "none")
"""States after which nothing more comes."""
WORD = 200


class Unusable(Exception):
    """An answer brought nothing to go on with; failure says why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.failure = Failure(kind, message)


@dataclass(frozen=True)
class Started:
    """load_start's answer. ends_in: seconds until the node ends the load by itself; holder: who has the node, when refused."""

    state: str
    boot_id: str
    ends_in: float
    about: Mapping[str, Any]
    holder: str = ""


@dataclass(frozen=True)
class Polled:
    """load_poll's answer. boot_id: now; started_boot_id: when the load began."""

    state: str
    boot_id: str
    started_boot_id: str
    current: str
    ends_in: float
    ended_why: str
    more: bool
    windows: list[Mapping[str, Any]] = field(repr=False)
    events: list[Mapping[str, Any]] = field(repr=False)
    results: Mapping[str, Mapping[str, Any]] = field(repr=False)
    snapshots: Mapping[str, Any] = field(repr=False)


def data(evidence: Evidence, collector: str) -> Mapping[str, Any]:
    """What the collector told. Raises Unusable with the kind of trouble."""
    if evidence.failure:
        raise Unusable(evidence.failure.kind, evidence.failure.message)
    answer = evidence.answers.get(collector, Answer(ok=False, error="no answer"))
    if not answer.ok or not isinstance(answer.data, Mapping):
        raise Unusable("node-code", f"{evidence.node}: {collector}: {_word(answer.error) or 'its answer is no mapping'}")
    return answer.data


def started(evidence: Evidence) -> Started:
    """Raises Unusable."""
    told = data(evidence, "load_start")
    state = _state(evidence, told, "load_start", STARTED)
    return Started(state, _word(told.get("boot_id")), _seconds(told.get("ends_in")),
                   {name: told[name] for name in ("id", "pid", "folder", "how") if _plain(told.get(name))}, _holder(told.get("holder")))


def polled(evidence: Evidence) -> Polled:
    """Raises Unusable."""
    told = data(evidence, "load_poll")
    state = _state(evidence, told, "load_poll", STATES)
    return Polled(
        state, _word(told.get("boot_id")), _word(told.get("started_boot_id")), _word(told.get("current")), _seconds(told.get("ends_in")),
        _word(told.get("ended_why")), told.get("more") is True, _mappings(told.get("windows")), _mappings(told.get("events")),
        {name: result for name, result in _mapping(told.get("results")).items() if isinstance(result, Mapping)},
        _mapping(told.get("snapshots")),
    )


def _state(evidence: Evidence, told: Mapping[str, Any], collector: str, known: tuple[str, ...]) -> str:
    state = told.get("state")
    if state not in known:
        raise Unusable("garbled", f"{evidence.node}: {collector}: its state is {state!r:.80}, expected one of {', '.join(known)}")
    return str(state)


def _holder(told: object) -> str:
    """Who has the node, in words."""
    words = {name: _word(value) for name, value in _mapping(told).items() if name in ("id", "run", "pid", "since")}
    said = [f"run {words['run']}" if words.get("run") else "", f"pid {words['pid']}" if words.get("pid") else "",
            f"since {words['since']}" if words.get("since") else ""]
    return ", ".join(filter(None, said)) or "nobody says who"


def _word(value: object) -> str:
    """A short printable word, whatever was told."""
    text = str(value) if _plain(value) else ""
    return "".join(char if char.isprintable() else "?" for char in text[:WORD])


def _plain(value: object) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _seconds(value: object) -> float:
    usable = isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
    return max(0.0, min(float(value), 1e7)) if usable and isinstance(value, (int, float)) else 0.0


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: object) -> list[Mapping[str, Any]]:
    """A list as long as the node's, for it counts what was told; what is no mapping is an empty one."""
    return [each if isinstance(each, Mapping) else {} for each in value] if isinstance(value, list) else []
