"""One campaign from its first round to its last: trials run side by side, each kept as it ends. Runs on the controller."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from fleetcheck.collective.campaign.course import Course, Members, Step, next_step
from fleetcheck.collective.campaign.ran import Launcher, Ran
from fleetcheck.collective.campaign.record import Kept, trial_line
from fleetcheck.collective.rounds import Planned
from fleetcheck.collective.trial import Trial
from fleetcheck.records import Evidence

LOST_TRIES = 2
"""A node for whose sake so many trials could not be run is tried no more."""
IDLE_ROUNDS = 3
"""After so many rounds that left no trial, nobody can be tried."""
TICK_SECONDS = 1.0


@dataclass
class Campaign:
    """courses: nodes of different kinds are not tried with each other; keep: takes each trial's evidence; lanes: members at work at once;
    stop: why it must end now, in words; gone: nodes that may not be tried any more, and why, looked up before each round; before: trials
    of an earlier session.
    """

    run: str
    courses: Sequence[Course]
    launcher: Launcher
    keep: Callable[[Evidence], object]
    lanes: int = 32
    stop: Callable[[], str] = lambda: ""
    gone: Callable[[], Mapping[str, str]] = dict
    tick: Callable[[], None] = lambda: None
    before: Sequence[Kept] = ()
    lost: dict[str, str] = field(default_factory=dict)
    ended: str = ""

    def __post_init__(self) -> None:
        self.trials: list[Trial] = [each.trial for each in self.before if each.trial]
        self.number = max((each.round for each in self.before), default=0)
        self._tried: set[Members] = set()
        self._tries: Counter[str] = Counter()
        self._closing = False
        self._now: tuple[str, int, int] = ("", 0, 0)

    def go(self) -> None:
        """Round after round until nothing is open, or it must end. Raises RunError when the disk refuses."""
        idle = 0
        while idle < IDLE_ROUNDS:
            self.ended = self.stop()
            self.lost.update(self.gone())
            steps = [] if self.ended else self._next()
            if not steps:
                return
            self.number += 1
            count = len(self.trials)
            self._round([(step.name, planned) for step in steps for planned in step.round])
            idle = 0 if len(self.trials) > count else idle + 1

    def _next(self) -> list[Step]:
        return [step for course in self.courses if (step := next_step(course, self.trials, self._tried, self.lost))]

    def _round(self, planned: Sequence[tuple[str, Planned]]) -> None:
        """All of a round, as many at once as there are lanes; a group that needs more goes alone."""
        waiting, running = list(planned), dict[Future[Ran], Planned]()
        pool = ThreadPoolExecutor(max_workers=max(1, self.lanes // 2), thread_name_prefix="trial")
        try:
            while waiting or running:
                while waiting and self._room(waiting[0][1], list(running.values())):
                    step, each = waiting.pop(0)
                    running[pool.submit(self._one, step, each, f"{self.number}-{len(planned) - len(waiting)}")] = each
                done, _ = wait(running, timeout=TICK_SECONDS, return_when=FIRST_COMPLETED)
                for future in done:
                    self._take(running.pop(future), future.result())
                self._now = (planned[0][0], len(planned) - len(waiting) - len(running), len(planned))
                self.tick()
        except BaseException:
            self._closing = True
            self.launcher.close()
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _room(self, planned: Planned, running: Sequence[Planned]) -> bool:
        busy = sum(len(each.members) for each in running)
        return not busy or busy + len(planned.members) <= self.lanes

    def _one(self, step: str, planned: Planned, name: str) -> Ran:
        """On a thread of its own: a mistake of ours costs this trial, not the campaign."""
        started, clock = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds"), time.monotonic()
        try:
            ran = self.launcher.run(planned, self.number, name)
        except Exception as error:  # noqa: BLE001
            ran = Ran(None, f"it failed on this side: {type(error).__name__}: {error}; please report this")
        if self._closing:  # we ended it: that says nothing of its members
            return Ran(None, "the run was ended")
        self.keep(trial_line(self.run, step, self.number, name, planned, ran, started, time.monotonic() - clock))
        return ran

    def _take(self, planned: Planned, ran: Ran) -> None:
        if ran.trial:
            self.trials.append(ran.trial)
            return
        self._tried.add(frozenset(planned.members))
        for node, why in ran.lost.items():
            self._tries[node] += 1
            if self._tries[node] >= LOST_TRIES:
                self.lost[node] = why

    def line(self) -> str:
        """Such as ``round 3: retests, 4 of 12 trials``."""
        step, done, of = self._now
        return f"round {self.number}: {step}, {done} of {of} trials" if step else ""

