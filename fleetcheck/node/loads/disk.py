"""Runs on the node: a file below the declared scratch path written, synced, dropped from the cache, read back and compared.

The file has no name from its first moment on: nothing stays of it however the load ends. Links are not followed, block devices
are never opened, and at most a tenth of the free space is taken.
"""

import os
import random
import stat
import time
import zlib
from typing import Any, Dict, Iterator, List

from fleetcheck.node.loads import faults
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Malformed, Task

SCOPE = "node"
TORCH = False

FREE_SHARE = 0.1
MOST_BYTES = 32 << 30
SIMULATED_BYTES = 16 << 20
BLOCK = 4 << 20
SYNC_BLOCKS = 64


def run(task: Task) -> Dict[str, Any]:
    """Settings: bytes (at most, of a pass)."""
    report = Report(task, 0)
    report.name = "disk " + task.scratch
    folder = opened_folder(task.scratch)
    try:
        size = room(task, folder)
        with nameless(folder) as file:
            task.begin()
            passes(task, report, file.fileno(), size)
    except OSError as error:
        report.fail("%s: %s" % ((error.strerror or str(error)).lower(), task.scratch))
    finally:
        os.close(folder)
    return {"devices": [report.entry()]}


def opened_folder(scratch: str) -> int:
    """A descriptor of the scratch folder itself. Malformed when there is none, or it is a link."""
    if not scratch:
        raise Malformed("disk needs a folder to write to: scratch: in the inventory")
    try:
        return os.open(scratch, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if os.path.islink(scratch):
            raise Malformed("%s is a link; declare where it leads: %s" % (scratch, os.path.realpath(scratch))) from error
        raise Malformed("%s: %s" % ((error.strerror or "").lower(), scratch)) from error


def room(task: Task, folder: int) -> int:
    """Bytes of one pass: whole blocks, at most a tenth of what is free."""
    free = os.fstatvfs(folder)
    most = int(free.f_bavail * free.f_frsize * FREE_SHARE)
    usual = SIMULATED_BYTES if os.environ.get("FLEETCHECK_ROOT") else MOST_BYTES
    size = min(most, int(task.number("bytes", usual, 1, 1 << 50))) // BLOCK * BLOCK
    if size < BLOCK:
        raise Malformed("a tenth of what is free on %s is %d bytes; too little for a block of %d" % (task.scratch, most, BLOCK))
    return size


def nameless(folder: int) -> Any:
    """A new file of this user only, without a name; OSError where it cannot be made."""
    name = ".fleetcheck-%d-%s" % (os.getpid(), os.urandom(8).hex())
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        os.unlink(name, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(22, "no regular file", name)
        return os.fdopen(descriptor, "r+b", 0)
    except OSError:
        os.close(descriptor)
        raise


def passes(task: Task, report: Report, file: int, size: int) -> None:
    """Write and read back until the time is over; at least one whole pass."""
    wrong = faults.of_device(os.environ, "disk", 0)
    device_bytes, read_bytes, number = 0, 0, 0
    while not number or not task.over():
        content = Content(task.seed, number)
        os.lseek(file, 0, os.SEEK_SET)
        sums = written(task, report, file, content, size, wrong)
        if wrong.corrupt or number + 1 == wrong.flip:
            damage(file)
        before = from_device()
        read_bytes += read_back(task, report, file, content, sums, wrong)
        device_bytes += from_device() - before
        number += 1
        if task.stopped:
            break
    report.tell("passes", number)
    report.tell("tested_bytes", min(size, read_bytes))
    report.tell("verified_bytes", read_bytes)
    report.tell("uncached_fraction", round(min(device_bytes / max(read_bytes, 1), 1.0), 3))


class Content:
    """What each block holds: noise, turned by its number, so that a block in the wrong place is found too."""

    def __init__(self, seed: int, number: int) -> None:
        self.noise = random.Random(seed * 1000003 + number).getrandbits(8 * BLOCK).to_bytes(BLOCK, "little")

    def block(self, place: int) -> bytes:
        """The content of a block."""
        turn = place * 4099 % BLOCK
        return self.noise[turn:] + self.noise[:turn]


def written(task: Task, report: Report, file: int, content: Content, size: int, wrong: faults.Faults) -> List[int]:
    """Write a pass, synced every now and then and at its end; the checksum of each block."""
    sums: List[int] = []
    for places in batches(size):
        blocks = [content.block(place) for place in places]
        began = time.monotonic()
        for block in blocks:
            whole(file, block)
        os.fsync(file)
        seconds = (time.monotonic() - began) * wrong.slow
        time.sleep(seconds - seconds / wrong.slow)
        report.sample("disk_write_mb_s", 1e-6 * BLOCK * len(blocks), seconds)
        sums += [zlib.crc32(block) for block in blocks]
        if task.over() and sums:
            break
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    return sums


def batches(size: int) -> Iterator[List[int]]:
    """The numbers of all blocks, as many at a time as are synced together."""
    places = list(range(size // BLOCK))
    for first in range(0, len(places), SYNC_BLOCKS):
        yield places[first:first + SYNC_BLOCKS]


def whole(file: int, block: bytes) -> None:
    """Write a block, all of it."""
    view = memoryview(block)
    while view:
        view = view[os.write(file, view):]


def read_back(task: Task, report: Report, file: int, content: Content, sums: List[int], wrong: faults.Faults) -> int:
    """Read every block and compare checksum and content; how many bytes were read."""
    os.lseek(file, 0, os.SEEK_SET)
    for place, expected in enumerate(sums):
        began = time.monotonic()
        block = filled(file)
        seconds = (time.monotonic() - began) * wrong.slow
        time.sleep(seconds - seconds / wrong.slow)
        report.sample("disk_read_mb_s", 1e-6 * len(block), seconds)
        if zlib.crc32(block) != expected or block != content.block(place):
            report.mismatch(1, [described(place, block, content.block(place))])
    return len(sums) * BLOCK


def filled(file: int) -> bytes:
    """The next block; shorter at an end that came too early."""
    parts, left = [], BLOCK
    while left:
        part = os.read(file, left)
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def described(place: int, block: bytes, expected: bytes) -> Dict[str, Any]:
    """The first place in a block that is not as it was written."""
    at = next((at for at in range(0, BLOCK, 512) if block[at:at + 512] != expected[at:at + 512]), 0)
    first = next((at + octet for octet in range(512) if block[at + octet:at + octet + 1] != expected[at + octet:at + octet + 1]), at)
    return {"where": "offset %d of the file" % (place * BLOCK + first), "pattern": "noise",
            "expected": expected[first:first + 8].hex(), "got": block[first:first + 8].hex() or "nothing"}


def from_device() -> int:
    """Bytes that this process caused to be fetched from a device (proc_pid_io(5)); 0 where that is not counted."""
    try:
        with open("/proc/self/io") as file:
            return int(dict(line.split(": ") for line in file.read().splitlines())["read_bytes"])
    except (OSError, KeyError, ValueError):
        return 0


def damage(file: int) -> None:
    """A fault of a simulated node: one octet of the file changes behind the load's back."""
    octet = os.pread(file, 1, 1234)
    os.pwrite(file, bytes([octet[0] ^ 4]), 1234)
