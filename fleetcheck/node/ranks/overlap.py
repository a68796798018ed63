"""Runs on the node: matrix products and an all-reduce together, against each alone."""

from typing import Any, Dict

from fleetcheck.node.ranks.bench import Calls, no_time
from fleetcheck.node.ranks.ops import AllReduce

SIDE = {"cuda": 8192, "cpu": 192}
MOST_PRODUCTS = 10000


def measure(job, asked, size, pattern, group):
    """{op: overlap, bytes, products, alone_compute, alone_communication, together: seconds of each iteration, wrong}."""
    job.voice.at("overlap of %d bytes" % size)
    calls = Calls(job, AllReduce, "overlap", pattern, group)
    if calls.meet(job.late("all_reduce", size)):
        return {"op": "overlap", "bytes": size, "skipped": no_time(job, "all_reduce", size)}
    slot = calls.slot(max(1, size // pattern.bytes))
    work = Work(job, group, calls, slot)
    work.size_up()
    told: Dict[str, Any] = {"alone_compute": [], "alone_communication": [], "together": []}
    for turn in range(asked["warmup"] + asked["iterations"]):
        for name in sorted(told):
            seconds = work.phase(compute=name != "alone_communication", communicate=name != "alone_compute", turn=turn)
            if turn >= asked["warmup"]:
                told[name].append(float("%.7g" % seconds))
        job.voice.pulse()
    return dict(told, op="overlap", bytes=size, products=work.count, wrong=sum(calls.wrong.values()), wrong_from=calls.wrong)


class Work:
    """Products that take about as long as the all-reduce."""

    def __init__(self, job, group, calls, slot):
        self.job, self.group, self.calls, self.slot = job, group, calls, slot
        side = SIDE[job.device.kind]
        self.matrix = job.torch.ones(side, side, device=job.device.at, dtype=job.torch.bfloat16 if job.device.kind == "cuda" else None)
        self.count = 1

    def size_up(self):
        """Choose the number of products; the same everywhere."""
        for _ in range(2):
            communication = self.phase(False, True, 0)
            product = self.phase(True, False, 0)
        wanted = self.job.torch.tensor([communication / max(product, 1e-9)], device=self.job.device.at)
        self.group.dist.all_reduce(wanted, op=self.group.dist.ReduceOp.MAX, group=self.group.handle)
        self.count = int(max(1, min(MOST_PRODUCTS, float(wanted.item()))))

    def phase(self, compute, communicate, turn):
        """Seconds of one phase on this rank."""
        calls, device = self.calls, self.job.device
        if communicate:
            calls.op.prepare(calls.pattern, self.group, self.slot, turn)
        device.sync()
        calls.meet()
        before = device.mark()
        handle = self.group.dist.all_reduce(self.slot.got, group=self.group.handle, async_op=True) if communicate else None
        for _ in range(self.count if compute else 0):
            self.job.torch.mm(self.matrix, self.matrix)
        if handle:
            handle.wait()
        after = device.mark()
        device.sync()
        if communicate:
            calls.verify(calls.op.wrong(calls.pattern, self.group, self.slot, turn))
        return device.seconds(before, after)
