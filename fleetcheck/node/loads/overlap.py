"""Runs on the node: matrix products while copies to and from the host run beside them, against each alone."""

from typing import Any, Dict, List

from fleetcheck.node.loads import atwork, bits, gemm, patterns
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Task

SCOPE = "device"
TORCH = True

SIDE = {"cuda": 8192, "cpu": 256}
BUFFER_BYTES = {"cuda": 256 << 20, "cpu": 4 << 20}
PHASE_SECONDS = {"cuda": 0.25, "cpu": 0.008}
DTYPE = "bf16"
NAMES = ("matmul", "h2d", "d2h")


def run(task: Task) -> Dict[str, Any]:
    """Settings: side, buffer_bytes."""
    return atwork.run(task, work)


def work(task: Task, device: Any, report: Report) -> None:
    """Rounds of four phases, each of the three alone and all together, until the end."""
    report.doing = "preparing"
    course = Course(task, device, report)
    task.begin()
    first = True
    while not task.over():
        course.round(counted=not first)
        first = False
    course.sum_up()


class Course:
    """The product and both copies on one device, each about equally long."""

    def __init__(self, task: Task, device: Any, report: Report) -> None:
        self.task = task
        self.device = device
        self.report = report
        torch = device.torch
        side = max(16, int(task.number("side", SIDE[device.kind], 16, 65536)))
        words = int(task.number("buffer_bytes", BUFFER_BYTES[device.kind], 4096, 1 << 36)) // patterns.WORD_BYTES
        generator = torch.Generator(device=device.at).manual_seed(task.seed)
        multiply = gemm.multiplication(torch, DTYPE, *(torch.randn(side, side, device=device.at, generator=generator) for _ in range(2)))
        self.there, self.back = (device.pinned(words * patterns.WORD_BYTES).view(torch.int64) for _ in range(2))
        patterns.random_words(torch, self.there, 0, task.seed)
        self.sent = patterns.words(torch, words, task.seed, device.at)
        self.arrived = torch.zeros_like(self.sent)
        self.result = device.compute(multiply)
        self.expected = self.result.clone()

        def product() -> None:
            self.result = device.compute(multiply)

        works = (product, lambda: device.copy(self.arrived, self.there), lambda: device.copy(self.back, self.sent))
        size = words * patterns.WORD_BYTES
        paces = (device.pace(2.0 * side ** 3, DTYPE), device.pace(size), device.pace(size))
        self.amounts = (2.0 * side ** 3 / 1e12, size / 1e9, size / 1e9)
        self.works = [self.sized(*each) for each in zip(works, paces)]

    def sized(self, work: Any, pace: float) -> Any:
        """(work, count, pace) that lasts about a phase."""
        self.device.timed(work)
        seconds = self.device.timed(work, 2, pace) / 2
        return work, max(1, int(PHASE_SECONDS[self.device.kind] / seconds)), pace

    def round(self, counted: bool) -> None:
        """Each alone, then all together; then what was computed and copied is compared."""
        self.arrived.zero_()
        self.back.zero_()
        self.report.doing = "each alone"
        alone = [self.device.together([work])[0] for work in self.works]
        self.report.doing = "all together"
        beside = self.device.together(self.works)
        if counted:
            self.sample("alone", alone)
            self.sample("overlap", beside)
        self.report.doing = "comparing"
        self.compare()

    def sample(self, when: str, seconds: List[float]) -> None:
        """The rates of one phase."""
        for name, amount, (_, count, _), took in zip(NAMES, self.amounts, self.works, seconds):
            metric = "%s_tflops_%s" % (when, DTYPE) if name == "matmul" else "%s_%s_gb_s" % (when, name)
            self.report.sample(metric, count * amount, took)

    def compare(self) -> None:
        """The product against the first one, the copies against what was sent."""
        torch = self.device.torch
        for name, expected, got in (("matmul beside copies", self.expected, self.result), ("h2d beside products", self.sent, self.arrived),
                                    ("d2h beside products", self.there, self.back)):
            self.report.mismatch(*bits.differences(torch, expected, got, name))

    def sum_up(self) -> None:
        """Each rate beside the others as a fraction of its rate alone; overlap_fraction is the least."""
        series = self.report.series
        fractions = {}
        for name in NAMES:
            metric = "tflops_%s" % DTYPE if name == "matmul" else "%s_gb_s" % name
            alone, beside = series.get("alone_" + metric), series.get("overlap_" + metric)
            if alone and beside and alone.rate():
                fractions[name] = beside.rate() / alone.rate()
                self.report.tell("%s_overlap_fraction" % name, round(fractions[name], 4))
        if fractions:
            self.report.tell("overlap_fraction", round(min(fractions.values()), 4))
        self.report.needs_samples()
