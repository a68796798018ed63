"""Asking every node once per probe, many at a time, and handing out what they answered. Runs on the controller.

Answers go to evidence.jsonl as they come and are read back when a check needs them, so that memory does not grow with the
fleet. Nothing here decides an outcome: a node that did not answer is evidence too.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as StillRunning
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from fleetcheck.absent import NotMeasured
from fleetcheck.exchange import Request
from fleetcheck.inventory import Node
from fleetcheck.journal import Journal
from fleetcheck.records import UNREACHABLE, Evidence, Failure, Share, evidence_of
from fleetcheck.run import RunError
from fleetcheck.transport.lane import Lane

NO_FAILURE = b'"failure":null,'
HEAD_BYTES = 600
"""Within these a line of evidence says whether it is a failure."""

Key = tuple[str, str]
"""(node name, probe)."""

_HEAD = re.compile(rb'^\{"run":"[^"\\]*","stage":"[^"\\]*","probe":"([^"\\]*)","node":"([^"\\]*)",')


@dataclass(frozen=True)
class Errand:
    """What a visit of a node is to bring home. offset: where its evidence begins in the journal."""

    node: Node
    request: Request
    offset: Future[int] = field(default_factory=Future)

    def unasked(self, earlier: Evidence) -> Evidence:
        """The evidence of a probe that was not asked, since the one before it found no way in."""
        return replace(earlier, stage=self.request.stage, probe=self.request.probe, seconds=0.0, attempts=0)


class Asks(Protocol):
    """What gathering needs of an exchange."""

    def ask(self, node: Node, request: Request, lane: Lane | None = None) -> Evidence:
        """One probe of one node; trouble is in Evidence.failure, never raised."""
        ...

    def close(self) -> None:
        """End every ask in flight."""
        ...


class Recorded:
    """The evidence of a file, by (node, probe); the last line of each counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.offsets = index(path)

    def keys(self) -> set[Key]:
        """Every (node, probe) with a line."""
        return set(self.offsets)

    def evidence(self, node: str, probe: str) -> Evidence:
        """The evidence of one probe. Raises NotMeasured when none was recorded."""
        offset = self.offsets.get((node, probe))
        if offset is None:
            raise NotMeasured(f"{node}: {probe} was not gathered in the recorded run")
        return read_at(self.path, offset)

    def turns(self, wanted: Mapping[Share, Collection[str]]) -> Iterator[Share]:
        """As given: all that will ever be known is."""
        return iter(wanted)

    def close(self) -> None:
        """Nothing is open."""


class Gathering:
    """Live evidence: a pool of threads asks; ``evidence`` waits for one answer, calling ``tick`` meanwhile."""

    def __init__(self, exchange: Asks, journal: Journal, connections: int, tick: Callable[[], None],
                 kept: Mapping[Key, int] | None = None) -> None:
        self.exchange = exchange
        self.journal = journal
        self.tick = tick
        self.pool = ThreadPoolExecutor(max_workers=max(1, connections), thread_name_prefix="gather")
        self._asked: dict[Key, Future[int]] = {}
        self._answered: SimpleQueue[Key] = SimpleQueue()
        self.kept = kept or {}

    def start(self, wanted: Sequence[tuple[Node, Request]]) -> None:
        """Queue every (node, request), those of a node for one visit; answers are awaited in whatever order the checks run."""
        visits: dict[str, list[Errand]] = defaultdict(list)
        for node, request in wanted:
            errand = Errand(node, request)
            visits[node.name].append(errand)
            self.adopt((node.name, request.probe), errand.offset)
        for errands in visits.values():
            self.pool.submit(self._visit, errands)

    def adopt(self, key: Key, asked: Future[int]) -> None:
        """Await this for a (node, probe): the place its evidence will have in the journal."""
        self._asked[key] = asked
        asked.add_done_callback(partial(self._tell, key))

    def asked(self) -> dict[str, dict[Key, Future[int]]]:
        """What every node was asked in this session, by its name."""
        found: dict[str, dict[Key, Future[int]]] = defaultdict(dict)
        for key, asked in self._asked.items():
            found[key[0]][key] = asked
        return found

    def _tell(self, key: Key, _: Future[int]) -> None:
        self._answered.put(key)

    def _visit(self, errands: Sequence[Errand]) -> None:
        """One login for all a node is asked; a node that lets nobody in is not knocked at again."""
        shut: Evidence | None = None
        with Lane() as lane:
            for each in errands:
                try:
                    evidence = each.unasked(shut) if shut else self.exchange.ask(each.node, each.request, lane)
                    each.offset.set_result(self.journal.append(evidence))
                except Exception as error:  # noqa: BLE001 - whoever waits must hear of it
                    each.offset.set_exception(error)
                    continue
                shut = evidence if evidence.failure and evidence.failure.kind in UNREACHABLE else None

    def evidence(self, node: str, probe: str) -> Evidence:
        """The evidence of one probe, waiting for it if need be; a run always ends, since every ask has its deadline."""
        if (node, probe) in self.kept:
            return read_at(self.journal.path, self.kept[node, probe])
        if (node, probe) not in self._asked:
            raise NotMeasured(f"{node}: {probe} was not planned")
        return read_at(self.journal.path, self._wait(self._asked[node, probe]))

    def turns(self, wanted: Mapping[Share, Collection[str]]) -> Iterator[Share]:
        """Nodes and stages as they can be judged, calling ``tick`` while none can."""
        pending = {share: {(share[0], probe) for probe in probes} & self._asked.keys() for share, probes in wanted.items()}
        readers = defaultdict(list)
        for share, keys in pending.items():
            for key in keys:
                readers[key].append(share)
        yield from (share for share, keys in pending.items() if not keys)
        left = sum(bool(keys) for keys in pending.values())
        while left:
            try:
                key = self._answered.get(timeout=1.0)
            except Empty:
                self.tick()
                continue
            for share in readers.pop(key, ()):
                pending[share].discard(key)
                if not pending[share]:
                    left -= 1
                    yield share

    def _wait(self, asked: Future[int]) -> int:
        while True:
            try:
                return asked.result(timeout=1.0)
            except StillRunning:
                if asked.done():
                    raise
                self.tick()

    def close(self) -> None:
        """Drop what was not begun, end what was, and wait for the threads: their last words are evidence too."""
        self.pool.shutdown(wait=False, cancel_futures=True)
        self.exchange.close()
        self.pool.shutdown(wait=True)
        for asked in self._asked.values():
            asked.cancel()


def index(path: Path) -> dict[Key, int]:
    """Where the last whole line of each (node, probe) begins. Raises RunError naming a damaged line."""
    found: dict[Key, int] = {}
    offset = 0
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            if line.endswith(b"\n"):
                found[_key(line, path, number)] = offset
            offset += len(line)
    return found


def _key(line: bytes, path: Path, number: int) -> Key:
    head = _HEAD.match(line)
    if head:
        return head[2].decode(), head[1].decode()
    try:
        record = json.loads(line)
        return str(record["node"]), str(record["probe"])
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}:{number}: damaged line ({error}); remove it or gather the node again") from error


def read_at(path: Path, offset: int) -> Evidence:
    """The evidence whose line begins at offset. Raises RunError when the line is damaged."""
    with path.open("rb") as stream:
        stream.seek(offset)
        line = stream.readline()
    try:
        return evidence_of(json.loads(line))
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path}: damaged line at byte {offset} ({error}); remove it or gather the node again") from error


def missing(wanted: Sequence[tuple[Node, Request]], recorded: Mapping[Key, int]) -> list[tuple[Node, Request]]:
    """What a resumed run still has to ask."""
    return [(node, request) for node, request in wanted if (node.name, request.probe) not in recorded]


def usable(path: Path, wanted: Sequence[tuple[Node, Request]]) -> dict[Key, int]:
    """Where a resumed run finds what it need not ask again: answered without a failure, by every collector wanted now."""
    found = index(path)
    asked = {(node.name, request.probe): request.collectors for node, request in wanted}
    return {key: offset for key, offset in found.items() if key in asked and _answers(read_at(path, offset), asked[key])}


def _answers(evidence: Evidence, collectors: Sequence[str]) -> bool:
    return evidence.failure is None and set(collectors) <= set(evidence.answers)


def silent(path: Path) -> dict[str, Failure]:
    """Why nodes brought no answer, of all evidence so far; what this side gave up is no failure of a node."""
    found = index(path)
    with path.open("rb") as stream:
        failed = [key for key, offset in found.items() if stream.seek(offset) >= 0 and NO_FAILURE not in stream.readline(HEAD_BYTES)]
    failures = {node: read_at(path, found[node, probe]).failure for node, probe in failed}
    return {node: failure for node, failure in failures.items() if failure and failure.kind != "disconnected"}
