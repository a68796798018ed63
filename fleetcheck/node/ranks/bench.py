"""Runs on the node: one collective at one size: rounds of calls, each timed, each result verified to the last element."""

import time
from typing import Any

from fleetcheck.node.ranks.ops import OPS, Slot

BATCH_BYTES = 1 << 20
"""Small calls follow each other without a pause, as many as have room here; larger ones have a barrier before each."""
MEMORY_PART = 0.8
SMALL_BYTES, MOST_STEP = 32 << 10, 64
MANY_RANKS, KEPT_TIMES = 256, 20
TIME_PART = 0.9
"""Of the seconds of a trial; the rest is for its end."""


class Job:
    """What one rank needs for its benchmarks. capacity: bytes that the rank with the least memory has free; zero: when the clocks of all
    started; seconds: for all benchmarks; longest: for one call."""

    def __init__(self, torch, device, voice, faults, capacity, zero, seconds, longest):
        self.torch = torch
        self.device = device
        self.voice = voice
        self.faults = faults
        self.capacity = capacity
        self.zero = zero
        self.until = zero + TIME_PART * seconds
        self.longest = longest
        self.paces = {}

    def expected(self, op, size):
        """Seconds that a call of this size may take, by the last one of the same collective; 0 when none was of about this size: the time
        of a small one is latency and says nothing of large ones."""
        last, seconds = self.paces.get(op, (0, 0.0))
        return seconds * size / last if last > SMALL_BYTES and last * MOST_STEP >= size else 0.0

    def late(self, op, size):
        """Whether another call of this size would take too long, or there is no time for it."""
        expected = self.expected(op, size)
        return expected > self.longest or time.monotonic() + expected > self.until


class Calls:
    """Calls of one kind: buffers of so many elements, what is done with them, the times they took."""

    def __init__(self, job, op, name, pattern, group):
        self.job, self.op, self.name, self.pattern, self.group = job, op, name, pattern, group
        self.seconds, self.entered, self.wrong = [], [], {}
        self.turn, self.size, self.cut = 0, 0, False

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
        """Fill, meet, call, verify; nothing more once all have met and some rank has no time left for it. counted: whether its times
        are kept; its errors are in any case."""
        if self.cut:
            return
        first, faults = self.turn, self.job.faults
        self.turn += len(slots)
        for number, slot in enumerate(slots):
            self.op.prepare(self.pattern, self.group, slot, first + number)
            faults.spoil(self.name, first + number + 1, slot.sent)
        self.job.device.sync()
        faults.before_round(self.name)
        entered = time.monotonic() - self.job.zero
        self.cut = self.meet(self.job.late(self.name, self.size))
        if self.cut:
            return
        marks = [self.call(slot, first + number) for number, slot in enumerate(slots)]
        self.job.device.sync()
        took = [float("%.7g" % self.job.device.seconds(*pair)) for pair in marks]
        self.job.paces[self.name] = self.size, max(took)
        if counted:
            self.entered.append(round(entered, 6))
            self.seconds += took
        for number, slot in enumerate(slots):
            self.verify(self.op.wrong(self.pattern, self.group, slot, first + number))
        self.job.voice.pulse()

    def meet(self, late=False):
        """All ranks of the group: a barrier by the smallest of collectives. Whether any of them is late: the same answer everywhere."""
        told = self.job.torch.tensor([1.0 if late else 0.0], device=self.job.device.at)
        self.group.dist.all_reduce(told, group=self.group.handle)
        return bool(told.item() > 0)

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
    calls.size = size
    job.voice.at("%s of %d bytes" % (asked["op"], size))
    count = max(1, min(asked["iterations"], BATCH_BYTES // need))
    slots = calls.slots(parts, count)
    for _ in range(0, asked["warmup"], count):
        calls.round(slots[:min(count, max(1, asked["warmup"]))], counted=False)
    for done in range(0, asked["iterations"], count):
        calls.round(slots[:asked["iterations"] - done], counted=True)
    if not calls.seconds:
        return dict(entry, skipped=no_time(job, asked["op"], size))
    return dict(entry, seconds=thinned(calls.seconds, group.size), entered=thinned(calls.entered, group.size),
                wrong=sum(calls.wrong.values()), wrong_from=calls.wrong)


def thinned(times, ranks):
    """All of them; of many ranks' some, of the same calls everywhere: the controller has to hold those of all."""
    step = 1 if ranks <= MANY_RANKS else -(-len(times) // KEPT_TIMES)
    return times[::max(1, step)]


def no_time(job, op, size):
    """Why a size was left out."""
    return "no time was left for it: a call takes about %.3g s, and the trial has %.0f s more" % (
        job.expected(op, size), max(0.0, job.until - time.monotonic()))
