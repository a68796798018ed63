"""Runs on the node: one collective at one size: rounds of calls, each timed, each result verified to the last element."""

import time
from typing import Any

from fleetcheck.node.ranks.ops import OPS, Slot

BATCH_BYTES = 1 << 20
"""Small calls follow each other without a pause, as many as have room here; larger ones have a barrier before each."""
MEMORY_PART = 0.8


class Job:
    """What one rank needs for its benchmarks. capacity: bytes that the rank with the least memory has free; zero: when the clocks of all
    started."""

    def __init__(self, torch, device, voice, faults, capacity, zero):
        self.torch = torch
        self.device = device
        self.voice = voice
        self.faults = faults
        self.capacity = capacity
        self.zero = zero


class Calls:
    """Calls of one kind: buffers of so many elements, what is done with them, the times they took."""

    def __init__(self, job, op, name, pattern, group):
        self.job, self.op, self.name, self.pattern, self.group = job, op, name, pattern, group
        self.seconds, self.entered, self.wrong = [], [], {}
        self.turn = 0

    def slots(self, parts, count):
        """Buffers for ``count`` calls; parts: elements of one part."""
        return [self.slot(parts) for _ in range(count)]

    def slot(self, parts):
        """Buffers for one call."""
        got = self.empty(parts * self.op.outputs(self.group.size))
        return Slot(got if self.op.in_place else self.empty(parts * self.op.inputs(self.group.size)), got)

    def empty(self, count):
        """Memory of the device."""
        return self.job.torch.empty(count, dtype=self.pattern.dtype, device=self.job.device.at)

    def round(self, slots, counted):
        """Fill, meet, call, verify. counted: whether its times are kept; its errors are in any case."""
        first, faults = self.turn, self.job.faults
        self.turn += len(slots)
        for number, slot in enumerate(slots):
            self.op.prepare(self.pattern, self.group, slot, first + number)
            faults.spoil(self.name, first + number + 1, slot.sent)
        self.job.device.sync()
        faults.before_round(self.name)
        entered = time.monotonic() - self.job.zero
        self.meet()
        marks = [self.call(slot, first + number) for number, slot in enumerate(slots)]
        self.job.device.sync()
        if counted:
            self.entered.append(round(entered, 6))
            self.seconds += [float("%.7g" % self.job.device.seconds(*pair)) for pair in marks]
        for number, slot in enumerate(slots):
            self.verify(self.op.wrong(self.pattern, self.group, slot, first + number))
        self.job.voice.pulse()

    def meet(self):
        """All ranks of the group: a barrier by the smallest of collectives."""
        self.group.dist.all_reduce(self.job.torch.ones(1, device=self.job.device.at), group=self.group.handle)
        self.job.device.sync()

    def call(self, slot, turn):
        """One call and the marks around it."""
        self.job.faults.before_call(self.name, turn + 1)
        before = self.job.device.mark()
        self.op.call(self.group, slot, turn)
        return before, self.job.device.mark()

    def verify(self, found):
        """Add up what was wrong, by whose data it was."""
        for whose, count in found.items():
            if count:
                name = "" if whose == "" else str(self.group.members[whose])
                self.wrong[name] = self.wrong.get(name, 0) + count


def measure(job, asked, size, pattern, group, rail=""):
    """The entry of one size: {op, bytes, moved_bytes, rail, seconds, entered, wrong, wrong_from} or {…, skipped}."""
    op: Any = OPS[asked["op"]]
    units = op.units(group.size)
    parts = max(1, size // pattern.bytes // units)
    moved = parts * units * pattern.bytes
    entry = {"op": asked["op"], "bytes": size, "moved_bytes": moved if asked["op"] != "barrier" else 0, "rail": rail}
    need = parts * pattern.bytes * (op.outputs(group.size) + (0 if op.in_place else op.inputs(group.size)))
    if need > MEMORY_PART * job.capacity:
        return dict(entry, skipped="%d bytes of buffers; the rank with the least memory has %d free" % (need, job.capacity))
    calls = Calls(job, op, asked["op"], pattern, group)
    job.voice.at("%s of %d bytes" % (asked["op"], size))
    count = max(1, min(asked["iterations"], BATCH_BYTES // need))
    slots = calls.slots(parts, count)
    for _ in range(0, asked["warmup"], count):
        calls.round(slots[:min(count, max(1, asked["warmup"]))], counted=False)
    for done in range(0, asked["iterations"], count):
        calls.round(slots[:asked["iterations"] - done], counted=True)
    return dict(entry, seconds=calls.seconds, entered=calls.entered, wrong=sum(calls.wrong.values()), wrong_from=calls.wrong)
