"""How a node's load ends on this side: its evidence joined, the node cleaned, the claim given up. Runs on the controller's threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from fleetcheck.burnin import claims, told
from fleetcheck.burnin.book import Book, now
from fleetcheck.burnin.record import answers, evidence_text
from fleetcheck.burnin.terms import Terms
from fleetcheck.burnin.timer import Timer
from fleetcheck.burnin.under import END_SECONDS, PROBE, Under
from fleetcheck.gather import Asks
from fleetcheck.inventory import Inventory
from fleetcheck.journal import Journal
from fleetcheck.quoting import escaped
from fleetcheck.records import Answer, Evidence, Failure

Step = Callable[[Under], None]


@dataclass(frozen=True)
class Patience:
    """Seconds. stagger: between two starts; claim: until a claim must be granted; grace: after a load's own end, to fetch it;
    closing: for ending everything; held: for how long Slurm's word holds that claims are still ours.
    """

    stagger: float = 1.0
    claim: float = 120.0
    claim_look: float = 5.0
    again: float = 60.0
    grace: float = 600.0
    closing: float = 60.0
    tries: int = 3
    held: float = 30.0


PATIENCE = Patience()


@dataclass
class Ends:
    """What all steps share, and those that end a load."""

    terms: Terms
    inventory: Inventory
    exchange: Asks
    book: Book
    journal: Journal
    timer: Timer
    patience: Patience = field(default_factory=lambda: PATIENCE)
    claims_run: claims.Run = claims.run
    every: float = 300.0
    one: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def later(self, seconds: float, step: Step, under: Under) -> None:
        """Have the step done that many seconds from now."""
        raise NotImplementedError

    def free(self, under: Under) -> None:
        """The node is no longer under load: another may be."""
        raise NotImplementedError

    def again(self, under: Under) -> None:
        """The node waits for its load as if for the first time."""
        raise NotImplementedError

    def finish(self, under: Under, missing: str) -> None:
        """All is fetched: join it to one piece of evidence, then clean up."""
        kept = under.kept
        kept.about.update(state=under.state, ended_why=under.ended_why, ended_at=now(), windows=kept.windows, events=kept.events,
                          started_boot_id=kept.boot_id, boot_id=under.boot_id or kept.boot_id)
        with self.one:  # a night's windows are many: one node's at a time
            evidence = self._evidence(under, None, answers(self.book.path, kept, under.request.collectors, missing))
            under.offset.set_result(self.journal.append_text(evidence_text(self.book.path, kept, evidence, missing)))
        self.book.write(under.name, "fetched", {"state": under.state})
        kept.state = "fetched"
        self.end(under)

    def _evidence(self, under: Under, failure: Failure | None, told_: Mapping[str, Answer]) -> Evidence:
        began = under.kept.began or now()
        seconds = round(max(0.0, (datetime.fromisoformat(now()) - datetime.fromisoformat(began)).total_seconds()), 3)
        return Evidence(under.request.run, PROBE, PROBE, under.name, began, seconds, failure=failure, answers=told_)

    def end(self, under: Under) -> None:
        """Stop what runs, remove what it left; tried again a few times, for the node may be busy or away."""
        under.tries += 1
        try:
            self.clean(under)
        except told.Unusable as nothing:
            self.book.write(under.name, "silent", {"message": nothing.failure.message})
            if under.tries < self.patience.tries:
                self.later(self.patience.again, self.end, under)
                return
        self.release(under)
        self.free(under)

    def clean(self, under: Under) -> None:
        """Raises Unusable when the node did not say that it is done."""
        answer = self.exchange.ask(under.node, under.question("load_end", END_SECONDS, {"id": under.request.run}))
        left = told.data(answer, "load_end").get("left")
        if left:
            raise told.Unusable("node-code", escaped(f"{under.name}: load_end: it left {left!r:.300}"))
        under.cleaned, under.kept.state = True, "ended"
        self.book.write(under.name, "ended", {"why": under.ended_why or under.state})

    def release(self, under: Under) -> None:
        """Give up the claim, if there is one."""
        held, under.kept.claim = under.kept.claim, ""
        if not held:
            return
        try:
            claims.release(held, self.claims_run)
        except claims.ClaimError as error:
            self.book.write(under.name, "silent", {"message": f"{held} was not released: {error}"})

    def defer(self, under: Under, reason: str) -> None:
        """It is not loaded now, and nothing is wrong with it."""
        self.settle(under, Failure("deferred", escaped(f"{under.name}: deferred: {reason}")), "deferred")

    def unloaded(self, under: Under, failure: Failure) -> None:
        """It is not loaded at all."""
        self.settle(under, failure, "deferred" if failure.kind == "deferred" else "unloaded")

    def settle(self, under: Under, failure: Failure, what: str) -> None:
        """It ends without a measurement."""
        self.release(under)
        self.book.write(under.name, what, {"message": failure.message, "kind": failure.kind})
        under.kept.state = what
        if not under.offset.done():
            under.offset.set_result(self.journal.append(self._evidence(under, failure, {})))
        self.free(under)
