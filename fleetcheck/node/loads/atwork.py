"""Runs on the node: devices at work in threads, waited for until the load's end: one that breaks or hangs costs itself only."""

import os
import threading
import time
import traceback
from typing import Any, Callable, Dict, List, Sequence, Tuple

from fleetcheck.node.loads.device import Opened, in_words, open_all, software
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Malformed, Task

GRACE_SECONDS = 15.0
STOPPED_SECONDS = 2.0

Leaves = Dict[str, Any]
Pair = Tuple[Report, Any]
Working = Tuple[threading.Thread, Sequence[Report]]


def run(task: Task, work: Callable[[Task, Any, Report], None]) -> Leaves:
    """The RESULT of ``work(task, device, report)`` on all devices at once; it calls ``task.begin()`` once prepared."""
    torch, opened = open_all(task)
    refused = []  # type: List[Malformed]

    def one(report: Report, device: Any) -> None:
        try:
            guarded(lambda: started(device, lambda: work(task, device, report)), [report], refused)
        finally:
            release(device)

    await_all(task, [(start(one, report, device), [report]) for report, device in opened if device])
    return result(torch, opened, refused)


def run_as_one(task: Task, work: Callable[[Task, List[Pair], Leaves], None]) -> Leaves:
    """The RESULT of ``work(task, pairs, told)`` over all devices in one thread; told: what it adds to the result, such as links."""
    torch, opened = open_all(task)
    refused = []  # type: List[Malformed]
    told = {}  # type: Leaves
    pairs = [(report, device) for report, device in opened if device]
    reports = [report for report, _ in pairs]
    if pairs:
        await_all(task, [(start(guarded, lambda: work(task, pairs, told), reports, refused), reports)])
    return dict(told, **result(torch, opened, refused))


def started(device: Any, work: Callable[[], None]) -> None:
    """Work on a device, to the end of what it enqueued."""
    device.use()
    work()
    device.sync()


def guarded(work: Callable[[], None], reports: Sequence[Report], refused: List[Malformed]) -> None:
    """Work whose errors are told in the reports; a malformed request is refused as a whole."""
    try:
        work()
    except Malformed as error:
        refused.append(error)
    except Exception as error:  # noqa: BLE001 - whatever breaks a device is told in its entry
        traceback.print_exc()
        for report in reports:
            report.fail("%s: %s" % (report.doing, in_words(error)))


def blame(pairs: Sequence[Pair], words: str) -> bool:
    """After an error of several devices together: it goes to those that fail by themselves as well, to a single one in any case."""
    for report, device in pairs:
        try:
            device.use()
            device.torch.zeros(16, device=device.at).add_(1)
            device.sync()
        except RuntimeError:
            report.fail("%s: %s" % (report.doing, words))
    if len(pairs) == 1:
        pairs[0][0].fail("%s: %s" % (pairs[0][0].doing, words))
    return any(report.error for report, _ in pairs)


def start(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    """A thread that ends with the process."""
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def result(torch: Any, opened: Sequence[Opened], refused: Sequence[Malformed]) -> Leaves:
    """The devices' entries as they stand."""
    if refused:
        raise refused[0]
    return {"devices": [report.entry() for report, _ in opened], "software": software(torch)}


def release(device: Any) -> None:
    """Free what a device still holds; one that is broken refuses that too."""
    try:
        device.release()
    except Exception as error:  # noqa: BLE001 - the load's own error was told already
        os.write(2, ("release of device %d: %s\n" % (device.index, in_words(error))).encode())


def await_all(task: Task, working: Sequence[Working]) -> None:
    """Until all have ended, or are given up a while after the load's end."""
    for thread, reports in working:
        while thread.is_alive() and not given_up(task):
            thread.join(0.1)
        if thread.is_alive():
            for report in reports:
                report.fail("no end %.0f s after its time: hangs in %s" % (time.monotonic() - task.until, report.doing))


def given_up(task: Task) -> bool:
    """Whether the load is over for so long that what still works hangs."""
    grace = STOPPED_SECONDS if task.stopped else GRACE_SECONDS
    return bool(time.monotonic() >= min(task.until + grace, task.latest + 1.0))
