"""The loads of a run: who goes when, from one timer and the run's connections, and how all of them end. Runs on the controller.

Each node is in one place at a time: waiting, claiming, starting, polled, fetched, ended. A step runs on the run's pool of
threads and sets the next one on the timer, so that a night's load costs a thread only while somebody is being asked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from fleetcheck.burnin import told
from fleetcheck.burnin.book import now, slim
from fleetcheck.burnin.ends import Step
from fleetcheck.burnin.record import Kept
from fleetcheck.burnin.steps import Steps
from fleetcheck.burnin.under import PROBE, Under, poll_seconds
from fleetcheck.exchange import Request
from fleetcheck.inventory import Node
from fleetcheck.quoting import escaped
from fleetcheck.records import Evidence, Failure
from fleetcheck.run import RunError


@dataclass
class Loads(Steps):
    """``start`` what is wanted, say ``ready`` when a node's facts are in, then ``close``. Futures: offsets of their evidence."""

    pool: Executor = field(kw_only=True)
    connections: int = 32

    def __post_init__(self) -> None:
        self.under: dict[str, Under] = {}
        self.waiting: list[str] = []
        self.loaded: set[str] = set()
        self._next_start = 0.0
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def start(self, wanted: Sequence[tuple[Node, Request]], recalled: dict[str, Kept]) -> dict[str, Future[int]]:
        """Take these nodes on; recalled: where an earlier session of the run left them."""
        self.under = {node.name: Under(node, request, recalled.get(node.name, Kept())) for node, request in wanted}
        asked = self.terms.asked
        self.every = poll_seconds(self.terms.node_seconds, min(len(wanted), self.terms.admission.limit or len(wanted)))
        self.book.write("", "terms", {
            "nodes": len(wanted), "tier": asked.tier, "seconds": self.terms.node_seconds, "waves": len(self.terms.waves),
            "until": asked.until.isoformat() if asked.until else "", "poll_seconds": self.every})
        return {name: each.offset for name, each in self.under.items()}

    def refuse(self, run: str, node: str) -> Future[int]:
        """The evidence of a node that nobody may load."""
        failure = Failure("unclaimed", f"{node}: not loaded: the inventory gives no claim for it; write claim: slurm-job, or claim: none")
        offset: Future[int] = Future()
        offset.set_result(self.journal.append(Evidence(run, PROBE, PROBE, node, now(), 0.0, failure=failure)))
        return offset

    def tidy(self, nodes: Iterable[tuple[Node, Request]], recalled: dict[str, Kept]) -> None:
        """End what an earlier session fetched and did not clean up."""
        for node, request in nodes:
            if node.name in recalled and recalled[node.name].begun:
                left = Under(node, request, recalled[node.name])
                left.offset.set_result(-1)
                self.under[node.name] = left
                self._submit(self.end, left)

    def ready(self, node: str, trouble: Failure | None, fresh: bool = True) -> None:
        """A node's facts are in; trouble: why it is not to be loaded; fresh: they are of now, not of an earlier session."""
        under = self.under[node]
        under.looked = self.timer.now() if fresh else under.looked
        if under.kept.begun:
            with self._lock:
                self.loaded.add(node)
            self._submit(self.attach, under)
        elif trouble:
            self._submit(partial(self.unloaded, failure=trouble), under)
        else:
            with self._lock:
                self.waiting.append(node)
            self._admit()

    def _submit(self, step: Step, under: Under) -> None:
        if self._closing.is_set():
            return
        try:
            self.pool.submit(self._guarded, step, under)
        except RuntimeError:  # the pool is being ended
            return

    def later(self, seconds: float, step: Step, under: Under) -> None:
        """On the timer, then on the pool."""
        self.timer.after(seconds, lambda: self._submit(step, under))

    def _guarded(self, step: Step, under: Under) -> None:
        """One step of one node. A mistake of ours costs that node its load, not the run."""
        with under.lock:
            if self._closing.is_set():
                return
            try:
                step(under)
            except RunError as full:
                self._stop_waiting(under, full)
            except Exception as error:  # noqa: BLE001
                self._broken(under, error)

    def _broken(self, under: Under, error: Exception) -> None:
        try:
            self.settle(under, Failure("controller", f"{under.name}: its load failed on this side: {type(error).__name__}: "
                                                      f"{escaped(str(error))}; please report this"), "failed")
        except RunError as full:
            self._stop_waiting(under, full)

    def _stop_waiting(self, under: Under, error: Exception) -> None:
        if not under.offset.done():
            under.offset.set_exception(error)
        self.free(under)

    def _admit(self) -> None:
        """Start whoever may be loaded now, one after the other."""
        while True:
            with self._lock:
                name = self.terms.admission.first(self.waiting, self.loaded)
                if not name:
                    return
                self.waiting.remove(name)
                self.loaded.add(name)
                moment = max(self.timer.now(), self._next_start)
                self._next_start = moment + self.patience.stagger
            self.later(moment - self.timer.now(), self.claim, self.under[name])

    def free(self, under: Under) -> None:
        """Its place is another's."""
        with self._lock:
            self.loaded.discard(under.name)
        self._admit()

    def again(self, under: Under) -> None:
        """The earlier session was killed before the node began: now as for the first time."""
        under.kept, under.attached, under.expected, under.deadline = Kept(), False, float("inf"), float("inf")
        with self._lock:
            self.loaded.discard(under.name)
            self.waiting.append(under.name)
        self._admit()

    def line(self) -> str:
        """Such as ``loads: 30 running, 2 waiting, 1 of 33 done``; empty once all are done."""
        with self._lock:
            running, waiting = len(self.loaded), len(self.waiting)
        done = sum(each.offset.done() for each in self.under.values())
        if done == len(self.under):
            return ""
        return f"loads: {running} running, {waiting} waiting, {done} of {len(self.under)} done"

    def close(self) -> None:
        """End every load that has begun, release every claim, within a deadline; nothing new starts."""
        if self._closing.is_set():
            return
        self._closing.set()
        self.timer.close()
        open_ = [each for each in self.under.values() if each.open or each.kept.claim or each.lock.locked()]
        if open_:
            self._end_all(open_)
        for each in self.under.values():
            each.offset.cancel()
        self.book.close()
        with suppress(RunError):  # it saves space, no more
            slim(self.book.path, {name for name, each in self.under.items() if each.cleaned and not each.offset.cancelled()})

    def _end_all(self, open_: Sequence[Under]) -> None:
        deadline = time.monotonic() + self.patience.closing
        pool = ThreadPoolExecutor(max_workers=min(self.connections, len(open_)), thread_name_prefix="ending")
        wait([pool.submit(self._end_now, each, deadline) for each in open_], timeout=self.patience.closing)
        pool.shutdown(wait=False, cancel_futures=True)

    def _end_now(self, under: Under, deadline: float) -> None:
        """Behind whatever is being asked of the node right now."""
        if not under.lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            return
        try:
            if under.open:
                under.ended_why = under.ended_why or "the run was ended"
                self.clean(under)
        except (told.Unusable, RunError):
            pass
        finally:
            self.release(under)
            under.lock.release()
