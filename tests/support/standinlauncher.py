"""A launcher that runs no ranks: trials are those of the simulated fabric of tests/localisation."""

import dataclasses
import random
import statistics
import threading

from simulated_fabric import Culprit, Fabric

from fleetcheck.collective.campaign.ran import Ran
from fleetcheck.collective.trial import WITHOUT_NVLS, Trial, Value

__all__ = ["Culprit", "Fabric", "StandIn"]
IB = "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA"
SOCKET = "n1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0"
TOLD = {"way": [IB], "grew": {}, "counted": ["eth0", "tcp", *(f"mlx5_{number}/1" for number in range(8))], "kernel": [], "said": {}, "boot_id": "b"}


SHARP = "n1:1:2 [0] NCCL INFO NVLS multicast support is available on dev 0 (NVLS_NCHANNELS 16)"
NO_SHARP = SHARP.replace("is available", "is not available")


class StandIn:
    """lost: nodes that cannot be asked; wide: sets of nodes that time out together; metric: what the figures are called; told: by node,
    what it says beside its figures; broken: what every trial ends with; late: node → by how much its latencies are longer; large: number
    of nodes → factor of their bandwidth at 64 MiB; overlap: their ratio; alone: node → what it shows by itself: GB/s or an outcome, as jobs
    have it and with NVLink SHARP off, and NCCL's lines about it."""

    def __init__(self, topology, culprits=(), seed=1, lost=(), wide=(), rails=4, metric="", told=None, broken="", late=None, large=None, overlap=0.9,
                 alone=None):
        self.fabric = Fabric(topology, tuple(culprits), random.Random(seed), rails)
        self.lost = set(lost)
        self.wide = [set(each) for each in wide]
        self.metric, self.told, self.broken = metric, told or {}, broken
        self.late, self.large, self.overlap = late or {}, large or {}, overlap
        self.alone = alone or {}
        self.asked = []
        self.closed = False
        self._lock = threading.Lock()

    def run(self, planned, number, name):
        with self._lock:
            self.asked.append((number, planned))
            lost = {node: f"{node}: login refused" for node in planned.members if node in self.lost}
            if lost:
                return Ran(None, "; ".join(lost.values()), lost)
            if len(planned.members) == 1:
                return self.by_itself(planned, number, name)
            trial = dataclasses.replace(self.fabric.run(planned, number), id=name)
        if self.broken or any(each <= set(planned.members) for each in self.wide):
            trial = dataclasses.replace(trial, outcome=self.broken or "timeout", values=())
        if self.metric and trial.values:
            trial = dataclasses.replace(trial, values=(*(dataclasses.replace(value, metric=self.metric) for value in trial.values), *self.more(trial)))
        return Ran(trial, told={node: {**TOLD, **self.told.get(node, {})} for node in planned.members})

    def by_itself(self, planned, number, name):
        """What a healthy H100 node shows, or its faults."""
        node, off = planned.members[0], planned.kind == WITHOUT_NVLS
        shown, *lines = (self.alone.get(node, ()) or (480.0, 370.0, SHARP))[off:]
        outcome, values = (shown, ()) if isinstance(shown, str) else ("ok", (Value("all_reduce_busbw_gb_s_8GiB", shown * self.fabric.chance.uniform(0.99, 1.01)),))
        return Ran(Trial(name, number, planned.kind, planned.members, outcome, values), told={node: {**TOLD, "way": [] if off else lines[1:]}})

    def more(self, trial):
        """Figures of all rails together at two sizes, and a latency."""
        mean = statistics.fmean(value.number for value in trial.values)
        noise = self.fabric.chance.uniform(0.97, 1.03)
        return (Value("overlap_ratio_64MiB", self.overlap * noise), Value("all_reduce_busbw_gb_s_1MiB", mean * 0.5 * noise), Value("all_reduce_busbw_gb_s_64MiB", mean * noise * self.large.get(len(trial.members), 1.0)),
                Value("all_reduce_p50_us_8B", 20.0 * noise * max(self.late.get(node, 1.0) for node in trial.members)))

    def close(self):
        self.closed = True
