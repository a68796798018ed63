"""A node against its peers: whose rates lie far below those of the nodes built, cooled and capped like it. Pure.

One-sided: a node is below when its value is less than median − k·1.4826·MAD of its cohort and at least 5 % below the median, or twice the
metric's own repeatability where that is more. A MAD over fewer than 32 nodes says too little, so smaller cohorts are not judged. A node
that has a twentieth of its cohort at least half as far below as itself is no outlier but of a second kind. One bad run is said and blames
nobody: a node is degraded when it is below in K of its last N runs. docs/peers.md shows how often a healthy node is blamed, and which loss
is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from statistics import median

K_MAD, MAD_TO_SIGMA = 6.0, 1.4826
LEAST_EFFECT = 0.05
LEAST_SAMPLES = 32
KIND_SHARE, KIND_NODES, NEAR = 0.05, 3, 1 / 2
"""So many nodes at least half as far below as a node, itself among them, are a kind of their own."""
REPEATS, OF_RUNS = 3, 5
REPEATABILITY: Mapping[str, float] = {"disk_write_mb_s": 0.10, "disk_read_mb_s": 0.10}
"""How far a healthy part's own runs lie apart, as a fraction, by the last word of a metric, where that is more than 2.5 %."""
RATES = ("copy_gb_s", "h2d_gb_s", "d2h_gb_s", "dram_gb_s", "disk_write_mb_s", "disk_read_mb_s")
"""What loads call their rates, of which more is better; ``tflops_…`` is one too, and the links between accelerators. What several nodes
do together is compared by the trials themselves."""
PEER_LINKS = "peerlink.links.gb_s"


@dataclass(frozen=True)
class Sample:
    """One node's value of one metric, that of its worst part. cohort: profile, cooling and power cap."""

    node: str
    cohort: str
    metric: str
    value: float
    part: str = ""


@dataclass(frozen=True)
class Below:
    """A sample far below its cohort. usual: the median; limit: what it had to reach; of: nodes compared."""

    sample: Sample
    usual: float
    limit: float
    of: int

    def __str__(self) -> str:
        """As a finding says it."""
        lost, part = 1 - self.sample.value / self.usual, f"{self.sample.part}: " if self.sample.part else ""
        return (f"{part}{self.sample.metric} {self.sample.value:.4g}, {lost:.0%} below the median {self.usual:.4g} of {self.of} nodes "
                f"of {self.sample.cohort} (limit {self.limit:.4g})")


@dataclass(frozen=True)
class Split:
    """A cohort that holds two kinds of nodes: so many below that none of them is an outlier."""

    cohort: str
    metric: str
    nodes: tuple[str, ...]
    usual: float
    of: int

    def __str__(self) -> str:
        """As an observation says it."""
        return (f"{self.metric}: {len(self.nodes)} of {self.of} nodes of {self.cohort} are far below the median {self.usual:.4g}: "
                "a second kind of node, or one cause")


@lru_cache(maxsize=4096)
def is_rate(metric: str) -> bool:
    """Whether a metric is a rate measured under load, of which more is better.

    >>> is_rate("gemm.devices.tflops_bf16"), is_rate("gpu.thermal.temperature_celsius"), is_rate("gemm.tflops_bf16_of_peers")
    (True, False, False)
    >>> is_rate("hbm.metrics.copy_gb_s"), is_rate("hbm.copy_gb_s_last_tenth_of_first")
    (True, False)
    """
    last = metric.rpartition(".")[2]
    return last in RATES or metric == PEER_LINKS or (last.startswith("tflops_") and "_of_" not in last)


def once(metrics: Iterable[str]) -> frozenset[str]:
    """Metrics less those that say another one again: a rate is read as ``hbm.metrics.copy_gb_s`` and quoted as ``hbm.copy_gb_s``.

    >>> sorted(once(["hbm.metrics.copy_gb_s", "hbm.copy_gb_s", "gemm.tflops_bf16"]))
    ['gemm.tflops_bf16', 'hbm.metrics.copy_gb_s']
    """
    told = frozenset(metrics)
    return frozenset(metric for metric in told if ".metrics.".join(metric.rsplit(".", 1)) not in told)


def worst(samples: Iterable[Sample]) -> list[Sample]:
    """One sample a node and metric: the lowest of its parts."""
    lowest: dict[tuple[str, str], Sample] = {}
    for each in samples:
        held = lowest.get((each.node, each.metric))
        if held is None or each.value < held.value:
            lowest[each.node, each.metric] = each
    return list(lowest.values())


def least(values: Sequence[float], repeatability: float = 0.0) -> tuple[float, float]:
    """The median and the least value that is no outlier."""
    usual = median(values)
    spread = K_MAD * MAD_TO_SIGMA * median([abs(value - usual) for value in values])
    return usual, usual - max(spread, max(LEAST_EFFECT, 2 * repeatability) * abs(usual))


def compare(samples: Iterable[Sample]) -> tuple[list[Below], list[Split]]:
    """Who is below, and which cohorts are of two kinds. samples: one a node and metric, as ``worst`` gives them."""
    cohorts: dict[tuple[str, str], list[Sample]] = {}
    for each in samples:
        cohorts.setdefault((each.cohort, each.metric), []).append(each)
    found, splits = list[Below](), list[Split]()
    for (cohort, metric), members in cohorts.items():
        if len(members) >= LEAST_SAMPLES:
            usual, limit = least([each.value for each in members], REPEATABILITY.get(metric.rpartition(".")[2], 0.0))
            low = [each for each in members if each.value < limit]
            kind = _kind(low, members, usual)
            found += [Below(each, usual, limit, len(members)) for each in low if each not in kind]
            if kind:
                edge = usual - NEAR * (usual - max(each.value for each in kind))
                splits.append(Split(cohort, metric, tuple(each.node for each in members if each.value <= edge), usual, len(members)))
    return found, splits


def _kind(low: Sequence[Sample], members: Sequence[Sample], usual: float) -> list[Sample]:
    """Those of the low ones that have too many others at least half as far below to be outliers."""
    least_nodes = max(KIND_NODES, ceil(KIND_SHARE * len(members)))
    edge = sorted(each.value for each in members)[least_nodes - 1]
    return [each for each in low if usual - edge >= NEAR * (usual - each.value)]


def repeats(earlier: Sequence[bool]) -> bool:
    """Whether a node that is below now is degraded. earlier: whether it was in the runs before that measured it, the newest first.

    >>> repeats([True, False, True]), repeats([True, False, False, False, True])
    (True, False)
    """
    return 1 + sum(earlier[: OF_RUNS - 1]) >= REPEATS
