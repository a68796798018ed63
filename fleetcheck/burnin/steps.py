"""What is done at a node under load, one step at a time: claim, start, poll. Runs on the controller's pool of threads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from fleetcheck import plan
from fleetcheck.burnin import claims, told
from fleetcheck.burnin.book import now
from fleetcheck.burnin.ends import Ends
from fleetcheck.burnin.holding import Holding
from fleetcheck.burnin.preflight import FRESH_SECONDS, look, trouble
from fleetcheck.burnin.record import Kept
from fleetcheck.burnin.schedule import start
from fleetcheck.burnin.under import POLL_BYTES, POLL_SECONDS, START_SECONDS, Under, next_poll
from fleetcheck.records import Failure


@dataclass
class Steps(Ends):
    """Every step ends by setting the next one, or by a line of evidence. Who comes when is decided by those who inherit it."""

    @cached_property
    def holding(self) -> Holding:
        """Which claims still hold."""
        return Holding(self.claims_run, self.timer.now, self.patience.held)

    def claim(self, under: Under) -> None:
        """The node's turn has come: is it still idle, is there time, and is it ours?"""
        if self.timer.now() - under.looked > FRESH_SECONDS:
            busy = trouble(under.name, [self.exchange.ask(under.node, look(under.request.run))])
            if busy:
                self.unloaded(under, busy)
                return
        under.course = self.terms.course(under.name, datetime.now().astimezone())
        if under.course is None:
            until = self.terms.asked.until
            self.defer(under, f"no time left for its load before {until:%H:%M}" if until else "no time left for its load")
            return
        try:
            held = claims.take(under.node.claim or "", under.name, under.request.run, under.course.seconds, self.claims_run)
        except claims.Busy as busy:
            self.defer(under, str(busy))
        except claims.ClaimError as error:
            self.unloaded(under, Failure("controller", f"{under.name}: not loaded: claim {under.node.claim}: {error}"))
        else:
            under.kept.claim = held
            if held:
                self.book.write(under.name, "claimed", {"ref": held})
            under.begins = self.timer.now()
            self._granted(under)

    def _granted(self, under: Under) -> None:
        """Start when the claim is granted; look again a little later while it is not."""
        try:
            if claims.granted(under.kept.claim, self.claims_run):
                self._start(under)
            elif self.timer.now() - under.begins > self.patience.claim:
                self.defer(under, str(claims.denied(under.name, under.kept.claim, under.request.run, self.claims_run)))
            else:
                self.later(self.patience.claim_look, self._granted, under)
        except claims.ClaimError as error:
            self.unloaded(under, Failure("controller", f"{under.name}: not loaded: {error}"))

    def _start(self, under: Under) -> None:
        """Ask the node to begin; the same question again is harmless."""
        assert under.course is not None
        if not under.tries:
            began = now()
            about = {"asked_seconds": under.course.seconds, "loads": [slot.load for slot in under.course.slots],
                     "tier": self.terms.asked.tier, "claim": under.node.claim or "", "started_at": began}
            under.kept = Kept("starting", began=began, about=dict(about), claim=under.kept.claim)
            self.book.write(under.name, "starting", about)
        under.tries += 1
        settings = {**start(under.request.run, under.node, self.inventory.profiles[under.node.profile], under.course),
                    "snapshot_settings": plan.settings(self.inventory, under.node)}
        try:
            answer = told.started(self.exchange.ask(under.node, under.question("load_start", START_SECONDS, settings)))
        except told.Unusable as nothing:
            self._not_started(under, nothing.failure)
            return
        if answer.state == "refused":
            self.defer(under, f"another load holds the node: {answer.holder}")
            return
        self._running(under, answer.ends_in or settings["seconds"], answer.boot_id)
        about = {**answer.about, "boot_id": answer.boot_id, "ends_in": answer.ends_in}
        under.kept.about.update(about)
        self.book.write(under.name, "started", about)
        self.later(next_poll(self.timer.now(), self.every, under), self._poll, under)

    def _running(self, under: Under, ends_in: float, boot_id: str) -> None:
        moment = self.timer.now()
        under.deadline = moment + ends_in
        under.expected = moment + min(ends_in, under.course.seconds if under.course else ends_in)
        under.kept.boot_id, under.kept.state, under.tries = boot_id, "started", 0

    def _not_started(self, under: Under, failure: Failure) -> None:
        """Perhaps it has started and only the answer was lost: the same question again is harmless."""
        self.book.write(under.name, "silent", {"message": failure.message})
        if under.tries < self.patience.tries:
            self.later(min(self.patience.again, 10.0 * under.tries), self._start, under)
        else:
            self.settle(under, Failure(failure.kind, f"{failure.message} (load_start, {under.tries} times)"), "failed")

    def attach(self, under: Under) -> None:
        """A load that an earlier session of this run began: go on where its last line ended."""
        under.begins = self.timer.now()
        under.deadline, under.attached = under.begins, True
        self._poll(under)

    def _poll(self, under: Under) -> None:
        after = {"windows": under.kept.windows, "events": under.kept.events}
        load = {"id": under.request.run, "after": after, "room": POLL_BYTES}
        try:
            answer = told.polled(self.exchange.ask(under.node, under.question("load_poll", POLL_SECONDS, load)))
        except told.Unusable as nothing:
            self._silent(under, nothing.failure)
            return
        under.tries, under.state, under.ended_why, under.boot_id = 0, answer.state, answer.ended_why, answer.boot_id
        self._keep(under, answer)
        if answer.more and (answer.windows or answer.events):
            self.later(0, self._poll, under)
        elif answer.state in told.ENDED:
            self._over(under, answer)
        elif why := self.holding.lost(under.kept.claim, under.name, under.request.run):
            self._dispossessed(under, why)
        else:
            self._go_on(under, answer)

    def _dispossessed(self, under: Under, why: str) -> None:
        """The node is somebody else's: its load ends at once, before anything else, and nothing of it is judged."""
        under.ended_why = "its claim was lost"
        told_before = f" ({under.kept.events} events were told before: {self.book.path.name})" if under.kept.events else ""
        failure = Failure("claim-lost", f"{under.name}: {why}, so its load was ended and nothing of it is judged{told_before}")
        try:
            self.clean(under)
        except told.Unusable as nothing:
            self.book.write(under.name, "silent", {"message": nothing.failure.message})
            self.later(self.patience.again, self.end, under)
        self.settle(under, failure, "deferred" if under.cleaned else "failed")

    def _keep(self, under: Under, answer: told.Polled) -> None:
        """On disk first, then counted: what is asked next comes after it."""
        kept = under.kept
        kept.boot_id = kept.boot_id or answer.started_boot_id or answer.boot_id
        about = {"windows": len(answer.windows), "events": len(answer.events), "state": answer.state, "current": answer.current,
                 "ends_in": round(answer.ends_in), "done": sorted(answer.results),
                 "boot_id": answer.boot_id, "started_boot_id": answer.started_boot_id}
        rest = {"results": kept.fresh(answer.results), "snapshots": answer.snapshots}
        kept.polls.append(self.book.write_poll(under.name, about, answer.windows, answer.events, rest))
        kept.windows += len(answer.windows)
        kept.events += len(answer.events)

    def _go_on(self, under: Under, answer: told.Polled) -> None:
        moment = self.timer.now()
        if answer.ends_in:
            under.deadline = moment + answer.ends_in
            under.expected = min(under.expected, under.deadline)
        if moment > under.deadline + self.patience.grace:
            self.finish(under, f"{under.name}: its load did not end by its deadline and was ended")
        else:
            self.later(next_poll(moment, self.every, under), self._poll, under)

    def _silent(self, under: Under, failure: Failure) -> None:
        """It goes on without us: ask again, until its own end and a grace are over."""
        moment = self.timer.now()
        self.book.write(under.name, "silent", {"message": failure.message})
        if moment > under.deadline:
            self.free(under)
        if moment > under.deadline + self.patience.grace:
            late = f"{failure.message}; its load has ended by itself and could not be fetched; --resume {under.request.run} fetches it"
            self.settle(under, Failure(failure.kind, late), "lost")
        else:
            self.later(min(self.every, self.patience.again), self._poll, under)

    def _over(self, under: Under, answer: told.Polled) -> None:
        if answer.state == "none" and under.attached and not under.kept.polls[:-1]:
            self.again(under)
            return
        words = {
            "ended": f"it was not run before the load ended ({answer.ended_why or 'no reason told'})",
            "rebooted": f"the node rebooted during the load: boot id {answer.started_boot_id or under.kept.boot_id} before, "
                        f"{answer.boot_id} now",
            "gone": "the load ended without a word: its supervisor is gone",
            "none": "the node knows nothing of this load any more",
        }
        self.finish(under, f"{under.name}: {words[answer.state]}")
