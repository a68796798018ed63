"""Runs on the node: every core at work at once, each on its own, with results that are known in advance.

Hashing, whole numbers, floating point and copying, of which each result was computed before and is the same on every sound processor:
fixed inputs, IEEE 754 double arithmetic without library functions. A round is all four; its results are compared, each time.
"""

import hashlib
import os
import struct
import time
import zlib
from typing import Any, Callable, Dict, List, Tuple

from fleetcheck.node.loads import crew, faults
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Malformed, Task

SCOPE = "node"
TORCH = False

TELL_SECONDS = 1.0
Kernel = Tuple[str, Callable[[], str], str]


def hashing() -> str:
    """SHA-512 of its own results, over and over: vector and crypto units."""
    text = b"fleetcheck" * 100
    for _ in range(4000):
        text = hashlib.sha512(text).digest() * 16
    return hashlib.sha512(text).hexdigest()[:32]


def integers() -> str:
    """Powers modulo a Mersenne prime: multipliers and carries."""
    number, prime = 0x9E3779B97F4A7C15, (1 << 521) - 1
    for step in range(60):
        number = pow(number, 65537, prime) ^ step
    return "%032x" % (number & ((1 << 128) - 1))


def floats() -> str:
    """A chaotic sequence: one wrong bit at any step changes all that follows."""
    x, y = 0.3, 0.7
    for _ in range(100000):
        x = 3.99 * x * (1.0 - x)
        y = (y * 1.0000001 + x) / (1.0 + x)
    return struct.pack(">dd", x, y).hex()


def copying() -> str:
    """Text packed and unpacked again: memory, caches and branches; how it is packed may differ, what comes back may not."""
    text = bytes(range(256)) * 128
    for step in range(5):
        text = zlib.decompress(zlib.compress(text[step + 1:] + text[:step + 1], 1))
    return "%08x%08x" % (zlib.crc32(text) & 0xFFFFFFFF, zlib.adler32(text) & 0xFFFFFFFF)


KERNELS: Tuple[Kernel, ...] = (
    ("sha512", hashing, "393c8913fbdadb19ad19a1cdd3f808e1"),
    ("integers", integers, "416e121e53933e8b2d3a7cc0e52c2a9e"),
    ("floats", floats, "3faa4b626e55786b3ff000005715618e"),
    ("copying", copying, "a551680934d4c3b2"),
)
"""Name, function and the result that every sound processor has."""


def run(task: Task) -> Dict[str, Any]:
    """One device, the processors together. Settings: cores (how many of those this process may use; all)."""
    cores = usable(task)
    report = Report(task, 0)
    report.name = "cpu"
    rounds = {core: [0, 0.0] for core in cores}
    task.begin()
    workers = crew.run(task, cores, lambda core, tell: work(task, core, tell), lambda core, line: heard(report, rounds, core, line))
    broken = ["core %d: %s" % (worker.number, worker.error) for worker in workers if worker.error]
    idle = ["core %d: it finished no round" % core for core in cores if not rounds[core][0]]
    if broken or idle:
        report.fail("; ".join((broken or idle)[:8]))
    verified = sum(count for count, _ in rounds.values())
    report.tell("verified_rounds", verified)
    report.tell("rounds_s", round(sum(count / max(seconds, 1e-9) for count, seconds in rounds.values()), 3))
    report.more["cores"] = {str(core): round(count / max(seconds, 1e-9), 3) for core, (count, seconds) in rounds.items()}
    covered = sum(1 for core in cores if rounds[core][0])
    return {"devices": [report.entry()], "cores": "%d of %d" % (covered, os.cpu_count() or covered)}


def usable(task: Task) -> List[int]:
    """The cores to load."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[:int(task.number("cores", len(allowed), 1, 1 << 16))]


def heard(report: Report, rounds: Dict[int, List[float]], core: int, line: Dict[str, Any]) -> None:
    """Rounds that a core finished, and what it got wrong."""
    if "wrong" in line:
        report.mismatch(1, [dict(line["wrong"], where="core %d" % core)])
        return
    rounds[core][0] += line["rounds"]
    rounds[core][1] += line["seconds"]
    report.sample("rounds_s", line["rounds"] * len(rounds), line["seconds"])
    report.sample("processor_share", line["own"], line["passed"])


def work(task: Task, core: int, tell: Callable[[Dict[str, Any]], None]) -> None:
    """Rounds on one core until the load is over. Seconds are the processor's own: what others take of it slows nobody's verdict."""
    os.sched_setaffinity(0, {core})
    wrong = fault(core)
    crew.die_after(wrong.die)
    count, done, began, used = 0, 0, time.monotonic(), time.process_time()
    while not task.over():
        for name, kernel, expected in KERNELS:
            done += 1
            got = damaged(kernel()) if done == wrong.flip else kernel()
            if got != expected:
                tell({"wrong": {"expected": expected, "got": got, "pattern": name}})
        count += 1
        if time.monotonic() - began >= TELL_SECONDS or task.over():
            own = time.process_time() - used
            tell({"rounds": count, "seconds": own * wrong.slow, "own": own, "passed": time.monotonic() - began})
            count, began, used = 0, time.monotonic(), time.process_time()


def fault(core: int) -> faults.Faults:
    """What is wrong with a core of a simulated node; nothing with a real one."""
    try:
        return faults.of_device(os.environ, "cpu", core)
    except Malformed:
        return faults.Faults()


def damaged(text: str) -> str:
    """A result with one wrong digit."""
    return ("0" if text[0] != "0" else "1") + text[1:]
