"""One item from its first phase to its line in results.jsonl: hooks of a fleet session. Runs on the controller."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from functools import lru_cache

import pytest

from fleetcheck import outcome
from fleetcheck.recording import Recording, recorded
from fleetcheck.records import Planned
from fleetcheck.run import RunError
from fleetcheck.session import FLEET, PLANNED, fleet_of


@dataclass
class Course:
    """What became of an item so far. body: whether its function ran to an end, without which nothing has passed."""

    planned: Planned
    recording: Recording = field(default_factory=Recording)
    end: outcome.Said = field(default_factory=lambda: outcome.Said("passed"))
    seconds: float = 0.0
    body: bool = False

    def phase(self, this: outcome.Said, when: str, seconds: float) -> None:
        """One phase ended."""
        self.end = outcome.worse(self.end, this)
        self.seconds += seconds
        self.body = self.body or when == "call"

    def said(self) -> outcome.Said:
        """How the item ended; a pass needs its body."""
        if self.end.outcome == "passed" and not self.body:
            return outcome.Said("error", RuntimeError("its body did not run"))
        return self.end


COURSE = pytest.StashKey[Course]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record what the item reads; append its result when it ended."""
    planned = item.stash.get(PLANNED, None)
    if planned is None:
        return (yield)
    item.stash[COURSE] = course = Course(planned)
    with recorded(course.recording):
        answer = yield
    del item.stash[COURSE]  # with an error goes its traceback, with that the node's whole evidence
    _keep(item, course)
    return answer


def _keep(item: pytest.Item, course: Course) -> None:
    fleet, planned = item.config.stash[FLEET], course.planned
    result = outcome.result(planned, course.said(), course.recording, course.seconds, fleet.boot_id(planned.node),
                            description(getattr(item, "function", None)))
    try:
        fleet.record(result)
    except RunError as full:
        pytest.exit(str(full), returncode=3)


@lru_cache(maxsize=1024)
def description(check: object) -> str:
    """What a check's docstring says, on one line."""
    return " ".join((check.__doc__ or "").split()) if check else ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A waived check is skipped with its reason before any fixture of it is asked."""
    planned = item.stash.get(PLANNED, None)
    if planned is not None and planned.waived:
        pytest.skip(planned.waived)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport | None:
    """An item's phase, told apart as passed, failed, skipped or not measured."""
    course = item.stash.get(COURSE, None)
    if course is None:
        return None
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, RunError):
        pytest.exit(str(error), returncode=3)
    this = outcome.said(call.when, error)
    course.phase(this, call.when, call.duration)
    if this.outcome not in ("failed", "error"):
        return pytest.TestReport.from_item_and_call(item, call)
    return _told(_report(item, call, outcome.message(this, course.recording)), this.outcome)


def _report(item: pytest.Item, call: pytest.CallInfo[None], message: str) -> pytest.TestReport:
    """The report of a phase that broke: a message for operators, and a traceback only where --tb asks for one."""
    if item.config.option.tbstyle != "no":
        return pytest.TestReport.from_item_and_call(item, call)
    quiet: pytest.CallInfo[None] = pytest.CallInfo(result=None, excinfo=None, start=call.start, stop=call.stop, duration=call.duration,
                            when=call.when, _ispytest=True)
    report = pytest.TestReport.from_item_and_call(item, quiet)
    report.longrepr = message
    return report


def _told(report: pytest.TestReport, word: str) -> pytest.TestReport:
    report.outcome = "failed"
    if word == "error" and report.when == "call":
        report.when = "setup"  # pytest counts an exception outside the body as an error
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport | pytest.CollectReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """No letters between the lines of the progress display."""
    if fleet_of(config) is None or report.when == "collect" or config.option.verbose > 0:
        return None
    if report.failed:
        return ("failed" if report.when == "call" else "error"), "", ""
    if report.skipped:
        return "skipped", "", ""
    return ("passed" if report.when == "call" else ""), "", ""
