"""Runs on the node: patterns written to a share of the free memory and read back, by many processes at once.

The share never exceeds what leaves the node enough to live; the processes are the first that the kernel ends when it does not.
A wrong word is told with its physical address where the kernel shows it (root), which names the memory module.
"""

import array
import ctypes
import mmap
import os
import random
import re
import struct
import time
from typing import Any, Callable, Dict, List, Mapping, Tuple

from fleetcheck.node.loads import crew, faults
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Malformed, Task

SCOPE = "node"
TORCH = False

SHARE = 0.7
LEFT_BYTES = 2 << 30
LEFT_SHARE = 0.05
SIMULATED_BYTES = 64 << 20
"""A simulated node shares its machine with many others."""
BLOCK = 1 << 20
PAGE = 4096
WORKERS = 16
MOST_OF_A_BLOCK = 4
Pattern = Tuple[str, Callable[[int], bytes]]


def run(task: Task) -> Dict[str, Any]:
    """Settings: fraction (of the memory that is available), bytes (at most), workers."""
    report = Report(task, 0)
    report.name = "memory"
    total = share(task.settings)
    workers = max(min(int(task.number("workers", min(WORKERS, len(os.sched_getaffinity(0))), 1, 1024)), total // BLOCK), 1)
    each = total // workers // BLOCK * BLOCK
    verified = {number: 0 for number in range(workers)}
    task.begin()
    crewed = crew.run(task, list(verified), lambda number, tell: work(task, number, each, tell),
                      lambda number, line: heard(report, verified, number, line))
    broken = ["worker %d: %s" % (worker.number, worker.error) for worker in crewed if worker.error]
    idle = ["worker %d verified nothing" % number for number in verified if not verified[number]]
    if broken or idle:
        report.fail("; ".join((broken or idle)[:4]))
    tested = sum(min(count, each) for count in verified.values())
    report.tell("tested_bytes", tested)
    report.tell("tested_fraction", round(tested / max(meminfo()["MemTotal"], 1), 4))
    report.tell("verified_bytes", sum(verified.values()))
    return {"devices": [report.entry()]}


def share(settings: Mapping[str, Any]) -> int:
    """How many bytes to test."""
    known = meminfo()
    fraction = settings.get("fraction", SHARE)
    if isinstance(fraction, bool) or not isinstance(fraction, (int, float)) or not 0 < fraction <= 0.9:
        raise Malformed("settings.fraction of dram is %.40r; expected a number above 0, at most 0.9" % (fraction,))
    free = known["MemAvailable"]
    most = min(int(free * fraction), int(free - max(LEFT_BYTES, known["MemTotal"] * LEFT_SHARE)))
    asked = settings.get("bytes", SIMULATED_BYTES if os.environ.get("FLEETCHECK_ROOT") else most)
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
        raise Malformed("settings.bytes of dram is %.40r; expected a whole number" % (asked,))
    if most < BLOCK:
        raise Malformed("only %d MiB are available; too little to test any and leave the node enough" % (free >> 20))
    return max(min(asked, most), BLOCK)


def memory_limit(settings: Mapping[str, Any]) -> int:
    """What the supervisor's memory cgroup holds this load to, in bytes, beside the processes themselves."""
    return share(settings)


def meminfo() -> Dict[str, int]:
    """/proc/meminfo of the machine that really holds the memory, in bytes."""
    with open("/proc/meminfo") as file:
        return {name: int(size) * 1024 for name, size in re.findall(r"^(\w+): +(\d+) kB", file.read(), re.MULTILINE)}


def heard(report: Report, verified: Dict[int, int], number: int, line: Dict[str, Any]) -> None:
    """Bytes that a worker verified, or words that were wrong."""
    if "wrong" in line:
        report.mismatch(line["count"], line["wrong"])
        return
    verified[number] += line["bytes"]
    report.sample("dram_gb_s", 2e-9 * line["bytes"] * len(verified), line["seconds"])  # written once, read once


def work(task: Task, number: int, size: int, tell: Callable[[Dict[str, Any]], None]) -> None:
    """One worker: every pattern over its memory, over and over."""
    area = mmap.mmap(-1, size)
    wrong = faults.of_device(os.environ, "dram", 0) if number == 0 else faults.Faults()
    crew.die_after(wrong.die)
    done = 0
    while not task.over():
        for name, block in patterns(task.seed + number):
            done += 1
            began = time.monotonic()
            written = write(task, area, block)
            damage(area, wrong, done)
            checked = verify(task, area, written, name, block, tell)
            time.sleep((time.monotonic() - began) * (wrong.slow - 1))
            if checked:
                tell({"bytes": checked, "seconds": time.monotonic() - began})
            if task.over():
                return


def patterns(seed: int) -> List[Pattern]:
    """Name and content of each block by its offset."""
    noise = random.Random(seed).getrandbits(8 * (BLOCK + PAGE)).to_bytes(BLOCK + PAGE, "little")
    words = array.array("Q", range(0, BLOCK, 8)).tobytes()
    return [("zeros", solid(0)), ("ones", solid(0xFF)), ("checkerboard", solid(0x55)), ("checkerboard inverted", solid(0xAA)),
            ("address in address", lambda offset: addressed(words, offset)),
            ("random", lambda offset: noise[offset // BLOCK * 64 % PAGE:][:BLOCK])]


def solid(octet: int) -> Callable[[int], bytes]:
    """The same octet everywhere."""
    block = bytes([octet]) * BLOCK
    return lambda offset: block


def addressed(words: bytes, offset: int) -> bytes:
    """Each word its place in the block; the first of each page its place in all."""
    block = bytearray(words)
    for page in range(0, BLOCK, PAGE):
        struct.pack_into("<Q", block, page, offset + page)
    return bytes(block)


def write(task: Task, area: mmap.mmap, block: Callable[[int], bytes]) -> int:
    """Fill the area; how many bytes were written when time ran out."""
    for offset in range(0, len(area), BLOCK):
        if task.over():
            return offset
        area[offset:offset + BLOCK] = block(offset)
    return len(area)


def verify(task: Task, area: mmap.mmap, written: int, name: str, block: Callable[[int], bytes],
           tell: Callable[[Dict[str, Any]], None]) -> int:
    """Read back what was written; how many bytes were compared."""
    for offset in range(0, written, BLOCK):
        if task.over() and offset:
            return offset
        found, expected = area[offset:offset + BLOCK], block(offset)
        if found != expected:
            places = differing(found, expected)
            tell({"count": len(places), "wrong": [described(area, offset + place, found, expected, place, name)
                                                  for place in places[:MOST_OF_A_BLOCK]]})
    return written


def differing(found: bytes, expected: bytes) -> List[int]:
    """The offsets of words that differ."""
    pages = [page for page in range(0, BLOCK, PAGE) if found[page:page + PAGE] != expected[page:page + PAGE]]
    return [place for page in pages for place in range(page, page + PAGE, 8) if found[place:place + 8] != expected[place:place + 8]]


def described(area: mmap.mmap, at: int, found: bytes, expected: bytes, place: int, name: str) -> Dict[str, Any]:
    """One wrong word; its physical address, else its offset."""
    address = physical(area, at)
    where: Dict[str, Any] = {"address": address} if address else {"where": "offset 0x%x of the memory tested" % at}
    return dict(where, pattern=name, expected=found_as_hex(expected[place:place + 8]), got=found_as_hex(found[place:place + 8]))


def found_as_hex(word: bytes) -> str:
    """A word as a number of 16 digits."""
    return "%016x" % struct.unpack("<Q", word)[0]


def physical(area: mmap.mmap, at: int) -> int:
    """The physical address of a byte (Documentation/admin-guide/mm/pagemap.rst); 0 where the kernel does not show it."""
    virtual = ctypes.addressof(ctypes.c_char.from_buffer(area)) + at
    try:
        with open("/proc/self/pagemap", "rb") as pagemap:
            pagemap.seek(virtual // mmap.PAGESIZE * 8)
            entry, = struct.unpack("<Q", pagemap.read(8))
    except (OSError, struct.error):
        return 0
    frame = entry & ((1 << 55) - 1) if entry >> 63 else 0
    return frame * mmap.PAGESIZE + virtual % mmap.PAGESIZE if frame else 0


def damage(area: mmap.mmap, wrong: faults.Faults, done: int) -> None:
    """The faults of a simulated node: a bit that stays 1, one that flips once."""
    if wrong.stuck >= 0:
        area[wrong.stuck % len(area)] |= 0x10
    if done == wrong.flip:
        area[0] ^= 1
