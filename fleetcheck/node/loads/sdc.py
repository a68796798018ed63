"""Runs on the node: silent data corruption: fixed computations repeated on every device, compared bit by bit there and across devices.

That nothing differs proves nothing: such faults show at some inputs, clocks and temperatures only.
"""

import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from typing import Any, Callable, Dict, List

from fleetcheck.node.loads import atwork, bits
from fleetcheck.node.loads.device import in_words
from fleetcheck.node.loads.sdc_cases import Case, cases
from fleetcheck.node.loads.sdc_rotation import Rotation
from fleetcheck.node.loads.task import Task

SCOPE = "node"
TORCH = True

LATE_SECONDS = 3.0
REFUSALS = ("not implemented", "not support", "unsupported", "deterministic implementation")

Tensors = Dict[int, Any]


def run(task: Task) -> Dict[str, Any]:
    """No settings; the request's seed makes the inputs."""
    return atwork.run_as_one(task, work)


def work(task: Task, pairs: List[atwork.Pair], told: Dict[str, Any]) -> None:
    """Every case on every device, again and again until the end."""
    torch = pairs[0][1].torch
    deterministic(torch)
    course = Course(task, pairs, told)
    task.begin()
    cycle = 0
    while not task.over() and course.living():
        began = time.monotonic()
        for case in list(course.cases):
            if task.over() or not course.living():
                break
            course.one(case, cycle)
        else:
            cycle += 1
            for _, device in pairs[:1]:
                device.rest(min(time.monotonic() - began, task.left()))
    course.sum_up(cycle)


def deterministic(torch: Any) -> None:
    """The same bits in every repeat, or an error."""
    torch.set_deterministic_debug_mode("error")  # as use_deterministic_algorithms(True), without importing a compiler
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False


class Course:
    """Cases on all devices, each computed in the device's own thread; first: the first results, by case and device."""

    def __init__(self, task: Task, pairs: List[atwork.Pair], told: Dict[str, Any]) -> None:
        self.task = task
        self.pairs = pairs
        self.rotation = Rotation(told)
        self.unsupported = told.setdefault("unsupported", {})
        self.cases = self.supported(list(cases(pairs[0][1].kind, task.seed)))
        self.first = {}  # type: Dict[str, Tensors]
        self.comparisons = 0
        self.threads = {device.index: ThreadPoolExecutor(1) for _, device in pairs}

    def supported(self, known: List[Case]) -> List[Case]:
        """The cases in dtypes that all devices have; why the others are left out is told."""
        for dtype in dict.fromkeys(case.dtype for case in known):
            reason = next(filter(None, (device.unsupported(dtype) for _, device in self.pairs)), "")
            if reason:
                self.unsupported[dtype] = reason
        return [case for case in known if case.dtype not in self.unsupported]

    def living(self) -> List[atwork.Pair]:
        """The devices without an error."""
        return [pair for pair in self.pairs if not pair[0].error]

    def one(self, case: Case, cycle: int) -> None:
        """One case on every device at once; then compared with the first time, and with the neighbour's result."""
        new = case.name not in self.first
        results = self.on_all(lambda report, device: self.compute(case, report, device), case)
        if not results or case not in self.cases:
            return
        kept = self.first.setdefault(case.name, {})
        self.on_all(lambda report, device: self.compare(case, cycle, report, device, kept, results[device.index]), case, results)
        compared = [pair for pair in self.living() if pair[1].index in results]
        if new:
            self.rotation.majority(case, compared, results)
        self.comparisons += self.rotation.turn(case, compared, results, cycle)

    def compute(self, case: Case, report: Any, device: Any) -> Any:
        """The case's result on one device."""
        report.doing = case.name
        device.use()
        result = device.compute(lambda: case.compute(device)).detach()
        device.sync()
        return result

    def compare(self, case: Case, cycle: int, report: Any, device: Any, kept: Tensors, result: Any) -> None:
        """The first result is kept and summed; a later one must have the same bits."""
        device.use()
        if device.index not in kept:
            kept[device.index] = result
            report.checksums[case.name] = bits.checksum(result)
            report.checksums["%s fp32 sum" % case.name] = bits.float_sum(device.torch, result)
            return
        self.comparisons += 1
        pattern = "repeat %d differs from the first on the same accelerator" % (cycle + 1)
        report.mismatch(*bits.differences(device.torch, kept[device.index], result, pattern, "%s," % case.name))

    def on_all(self, job: Callable[[Any, Any], Any], case: Case, among: Any = None) -> Tensors:
        """The job on every living device (of ``among``) in its own thread: results by index. A device that breaks or hangs has an error."""
        jobs = [(pair, self.threads[pair[1].index].submit(job, *pair)) for pair in self.living() if among is None or pair[1].index in among]
        found = {}
        for (report, device), future in jobs:
            if self.awaited(case, report, future):
                found[device.index] = future.result()
        return found

    def awaited(self, case: Case, report: Any, future: "Future[Any]") -> bool:
        """Whether a job ended well before it was late."""
        try:
            future.result(max(self.task.left(), 0.0) + LATE_SECONDS)
            return True
        except Late:
            report.fail("hangs in %s" % case.name)
        except Exception as error:  # noqa: BLE001 - whatever breaks a device is told in its entry
            self.broken(case, report, error)
        return False

    def broken(self, case: Case, report: Any, error: Exception) -> None:
        """A case that the library refuses is left out for all; anything else is the device's error."""
        refused = isinstance(error, (NotImplementedError, TypeError)) or any(word in str(error).lower() for word in REFUSALS)
        if refused and case.name not in self.first:
            self.unsupported[case.name] = in_words(error)
            self.cases = [each for each in self.cases if each.name != case.name]
        else:
            report.fail("%s: %s" % (case.name, in_words(error)))

    def sum_up(self, cycles: int) -> None:
        """How much was compared."""
        for report, _ in self.pairs:
            done = len(report.checksums) // 2
            report.tell("cases", done)
            report.tell("cases_planned", len(self.cases))
            report.tell("repeats", cycles)
            report.tell("comparisons", self.comparisons)
            if not done:
                report.fail("no case was computed in %g s" % self.task.seconds)
