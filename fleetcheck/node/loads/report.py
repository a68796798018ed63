"""Runs on the node: what one device told under a load: rates, their course from the first tenth to the last, mismatches, checksums."""

import time
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from fleetcheck.node.loads.task import Task

TENTHS = 10
MOST_SAMPLES = 4096
MOST_MISMATCHES = 64
EMIT_SECONDS = 1.0

Sample = Tuple[float, float]


class Series:
    """Samples of one rate in their order: (work, seconds). Neighbours are joined when there are too many."""

    def __init__(self) -> None:
        self.samples = []  # type: List[Sample]

    def add(self, work: float, seconds: float) -> None:
        """One sample."""
        self.samples.append((work, seconds))
        if len(self.samples) >= MOST_SAMPLES:
            self.samples = [joined(self.samples[at:at + 2]) for at in range(0, len(self.samples), 2)]

    def rate(self) -> float:
        """Work by second over all samples."""
        return rate(self.samples)

    def tenths(self) -> List[float]:
        """The rates of the first to the last tenth of the samples; none when there are fewer than ten."""
        count = len(self.samples)
        if count < TENTHS:
            return []
        return [round(rate(self.samples[count * part // TENTHS:count * (part + 1) // TENTHS]), 9) for part in range(TENTHS)]


def joined(samples: List[Sample]) -> Sample:
    """Several samples as one."""
    return sum(work for work, _ in samples), sum(seconds for _, seconds in samples)


def rate(samples: List[Sample]) -> float:
    """Work by second.

    >>> rate([(4.0, 1.0), (8.0, 2.0)])
    4.0
    """
    work, seconds = joined(samples)
    return work / seconds if seconds > 0 else 0.0


class Report:
    """One device's entry of the RESULT while it grows. ``doing``: what the device was last asked, for one that hangs."""

    def __init__(self, task: Task, index: int, uuid: str = "") -> None:
        self.task = task
        self.index = index
        self.uuid = uuid
        self.name = ""
        self.error = ""
        self.doing = "starting"
        self.metrics = {}  # type: Dict[str, float]
        self.series = {}  # type: Dict[str, Series]
        self.mismatches = []  # type: List[Mapping[str, Any]]
        self.mismatch_count = 0
        self.checksums = {}  # type: Dict[str, str]
        self.more = {}  # type: Dict[str, Any]
        self._emitted = {}  # type: Dict[str, Tuple[float, int]]

    def sample(self, metric: str, work: float, seconds: float) -> None:
        """Work done in some seconds: a rate's next sample; about once a second the rate since then is told."""
        series = self.series.setdefault(metric, Series())
        series.add(work, seconds)
        now = time.monotonic()
        last, told = self._emitted.setdefault(metric, (now, len(series.samples) - 1))
        if now - last >= EMIT_SECONDS:
            self.task.emit(self.index, metric, round(rate(series.samples[min(told, len(series.samples) - 1):]), 9))
            self._emitted[metric] = (now, len(series.samples))

    def tell(self, metric: str, value: float) -> None:
        """A metric that is no rate."""
        self.metrics[metric] = value

    def needs_samples(self) -> None:
        """A load that sampled no rate did not measure anything."""
        if not self.series:
            self.fail("nothing was measured in %g s" % self.task.seconds)

    def mismatch(self, count: int, some: Sequence[Mapping[str, Any]]) -> None:
        """``count`` values that are wrong, and some of them."""
        self.mismatch_count += count
        self.mismatches += some[:max(0, MOST_MISMATCHES - len(self.mismatches))]
        now = time.monotonic()
        if count and now - self._emitted.get("mismatch_count", (-EMIT_SECONDS, 0))[0] >= EMIT_SECONDS:
            self._emitted["mismatch_count"] = (now, 0)
            self.task.emit(self.index, "mismatch_count", self.mismatch_count)

    def fail(self, error: str) -> None:
        """Why this device did not run to the end; the first reason stays."""
        self.error = self.error or error

    def entry(self) -> Dict[str, Any]:
        """The entry as it stands."""
        series = {metric: each for metric, each in list(self.series.items()) if each.samples}
        rates = {metric: round(each.rate(), 9) for metric, each in series.items()}
        entry = {
            "index": self.index, "uuid": self.uuid, "name": self.name, "error": self.error, "metrics": dict(rates, **self.metrics),
            "tenths": {metric: each.tenths() for metric, each in series.items() if each.tenths()},
            "mismatches": list(self.mismatches), "mismatch_count": self.mismatch_count, "checksums": dict(self.checksums),
        }
        return dict(self.more, **entry)
