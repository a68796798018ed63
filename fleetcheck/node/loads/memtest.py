"""Runs on the node: a device's free memory filled with patterns and read back: where it holds something else than was stored."""

import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

from fleetcheck.node.loads import atwork, bits, patterns
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Task

SCOPE = "device"
TORCH = True

FRACTION = 0.95
BLOCK_BYTES = 1 << 30
CHUNK_BYTES = 128 << 20
LEAST_BLOCK_BYTES = 2 << 20
SPARE_BYTES = 64 << 20
WORD_BITS = 64

Fill = Callable[[Any, int], None]


class Pattern(NamedTuple):
    """A pattern. kind: of which each must have been seen everywhere; fill(words, number of the first word) stores it."""

    kind: str
    name: str
    fill: Fill


class OutOfTime(Exception):
    """The load is over; the pattern at work is left unfinished."""


def run(task: Task) -> Dict[str, Any]:
    """Settings: fraction of the free memory; bytes: what a stand-in says is free."""
    return atwork.run(task, work)


def work(task: Task, device: Any, report: Report) -> None:
    """Cycles of all patterns until the end, random ones with another seed each time."""
    report.doing = "taking memory"
    free = device.free_bytes()
    memory = Memory(task, device, report, free)
    report.tell("free_bytes", free)
    task.begin()
    try:
        cycles(task, device, report, memory)
    except OutOfTime:
        pass
    finally:
        memory.tell(free)
        memory.blocks.clear()
    memory.needs_all_kinds()


def cycles(task: Task, device: Any, report: Report, memory: "Memory") -> None:
    """Cycle after cycle; OutOfTime in the midst of one."""
    done = 0
    report.tell("cycles", done)
    while not task.over():
        began = time.monotonic()
        for steps in tests(device.torch, task.seed + done):
            steps(memory)
        done += 1
        report.tell("cycles", done)
        device.rest(min(time.monotonic() - began, task.left()))


class Memory:
    """The memory under test, as blocks of int64 words, worked on chunk by chunk. verified: bytes read back well or not, by kind."""

    def __init__(self, task: Task, device: Any, report: Report, free: int) -> None:
        self.task = task
        self.device = device
        self.report = report
        self.torch = device.torch
        chunk = max(1 << 16, min(CHUNK_BYTES, free // 64)) // patterns.WORD_BYTES
        self.scratch = self.torch.empty(chunk, dtype=self.torch.int64, device=device.at)
        self.blocks = taken(device, wanted(task, device, free, chunk * patterns.WORD_BYTES))
        self.verified = {kind: 0 for kind in KINDS}

    def chunks(self, down: bool = False) -> Iterator[Tuple[int, Any]]:
        """(number of the first word, words) from the first to the last, or the other way."""
        places, number = [], 0
        for block in self.blocks:
            for start in range(0, block.numel(), self.scratch.numel()):
                places.append((number + start, block[start:start + self.scratch.numel()]))
            number += block.numel()
        for offset, words in reversed(places) if down else places:
            if self.task.over():
                raise OutOfTime
            yield offset, words

    def store(self, pattern: Pattern) -> None:
        """Fill all of it."""
        self.report.doing = "storing %s" % pattern.name
        for offset, words in self.chunks():
            self.put(pattern, offset, words)

    def put(self, pattern: Pattern, offset: int, words: Any) -> None:
        """Fill one chunk."""
        pattern.fill(words, offset)
        self.device.written(words, offset * patterns.WORD_BYTES)

    def verify(self, pattern: Pattern, then: Any = None, down: bool = False) -> None:
        """Read all of it back; each chunk is filled with the pattern ``then``, if any, right after."""
        self.report.doing = "reading %s back" % pattern.name
        seen = 0
        for offset, words in self.chunks(down):
            self.compare(pattern, offset, words)
            if then:
                self.put(then, offset, words)
            seen += words.numel() * patterns.WORD_BYTES
            self.verified[pattern.kind] = max(seen, self.verified[pattern.kind])

    def compare(self, pattern: Pattern, offset: int, words: Any) -> None:
        """Tell every word of a chunk that is not as stored."""
        expected = self.scratch[:words.numel()]
        pattern.fill(expected, offset)
        self.report.mismatch(*bits.word_differences(self.torch, expected, words, offset, pattern.name))

    def tell(self, free: int) -> None:
        """How much was read back with every kind of pattern."""
        tested = min(self.verified.values())
        self.report.tell("tested_bytes", tested)
        self.report.tell("tested_fraction", round(tested / free, 6) if free else 0.0)
        self.report.tell("allocated_bytes", sum(block.numel() for block in self.blocks) * patterns.WORD_BYTES)
        self.report.more["verified_bytes"] = dict(self.verified)

    def needs_all_kinds(self) -> None:
        """A load too short for every kind of pattern tested nothing."""
        missing = ", ".join(sorted(kind for kind, count in self.verified.items() if not count))
        if missing:
            self.report.fail("%g s were too short: no memory was read back with %s" % (self.task.seconds, missing))


def wanted(task: Task, device: Any, free: int, chunk: int) -> int:
    """Bytes to test: what is asked for of the free memory, but for what comparing needs on a real device."""
    share = int(free * task.number("fraction", FRACTION, 0.01, 1.0))
    return min(share, free - 4 * chunk - SPARE_BYTES) if device.kind == "cuda" else share


def taken(device: Any, wanted: int) -> List[Any]:
    """Blocks of int64 words, up to so many bytes; fewer when the driver hands out less than it promised."""
    blocks, size = [], BLOCK_BYTES
    while wanted >= patterns.WORD_BYTES and size >= LEAST_BLOCK_BYTES:
        count = min(size, wanted) // patterns.WORD_BYTES
        try:
            blocks.append(device.torch.empty(count, dtype=device.torch.int64, device=device.at))
            wanted -= count * patterns.WORD_BYTES
        except RuntimeError as error:
            if "memory" not in str(error):
                raise
            size //= 2
    return blocks


def constant(kind: str, name: str, value: int) -> Pattern:
    """The same word everywhere."""
    return Pattern(kind, name, lambda words, offset: words.fill_(patterns.signed(value)))


def tests(torch: Any, seed: int) -> Iterator[Callable[[Memory], None]]:
    """The tests of one cycle, in their order."""
    def own(words: Any, offset: int) -> None:
        patterns.addresses(torch, words, offset)

    def inverse(words: Any, offset: int) -> None:
        patterns.addresses(torch, words, offset)
        words.bitwise_not_()

    def random(words: Any, offset: int) -> None:
        patterns.random_words(torch, words, offset, seed)

    yield once(Pattern("address", "address in address", own))
    yield once(Pattern("address", "inverted address in address", inverse))
    yield once(Pattern("random", "random, seed %d" % seed, random))
    for value in (0, 0x5555555555555555, 0x3333333333333333):
        yield inversions(value)
    for number in range(WORD_BITS):
        yield once(constant("walking one", "walking one, bit %d" % number, 1 << number))
        yield once(constant("walking zero", "walking zero, bit %d" % number, ~(1 << number)))


KINDS = ("address", "random", "moving inversions", "walking one", "walking zero")


def once(pattern: Pattern) -> Callable[[Memory], None]:
    """Store, read back."""
    def steps(memory: Memory) -> None:
        memory.store(pattern)
        memory.verify(pattern)

    return steps


def inversions(value: int) -> Callable[[Memory], None]:
    """Moving inversions: up, reading each word and storing its inverse; down, reading that and storing the word again; read once more."""
    there, back = (constant("moving inversions", "moving inversions of 0x%016x%s" % (value, text), each)
                   for each, text in ((value, ""), (~value, ", inverted")))

    def steps(memory: Memory) -> None:
        memory.store(there)
        memory.verify(there, then=back)
        memory.verify(back, then=there, down=True)
        memory.verify(there)

    return steps
