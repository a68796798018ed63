"""Runs on the node: copies within the memory of a device: GB/s, read and written bytes counted, and whether all arrives."""

from typing import Any, Dict, List, Tuple

from fleetcheck.node.loads import atwork, bits, patterns
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Task

SCOPE = "device"
TORCH = True

BUFFER_BYTES = {"cuda": 4 << 30, "cpu": 4 << 20}
BATCH_SECONDS = {"cuda": 0.1, "cpu": 0.005}
WARM_UP_FRACTION, WARM_UP_SECONDS = 0.1, 2.0


def run(task: Task) -> Dict[str, Any]:
    """Settings: buffer_bytes, of each of the two buffers."""
    return atwork.run(task, work)


def work(task: Task, device: Any, report: Report) -> None:
    """Copy batch after batch until the end; after each batch one copy into a cleared buffer is compared bit by bit."""
    report.doing = "filling buffers"
    torch = device.torch
    count = words_of(task, device)
    source = patterns.words(torch, count, task.seed, device.at)
    target = torch.zeros_like(source)
    moved = 2.0 * count * patterns.WORD_BYTES

    def copy() -> None:
        device.copy(target, source)

    pace = device.pace(moved)
    device.timed(copy)
    batch = max(1, int(BATCH_SECONDS[device.kind] / device.timed(copy, 1, pace)))
    task.begin()
    warm = task.left() - min(WARM_UP_SECONDS, WARM_UP_FRACTION * task.left())
    report.tell("buffer_bytes", count * patterns.WORD_BYTES)
    while not task.over():
        report.doing = "copying"
        took = device.timed(copy, batch, pace)
        if task.left() <= warm:
            report.sample("copy_gb_s", batch * moved / 1e9, took)
        report.doing = "comparing"
        target.zero_()
        copy()
        report.mismatch(*compared(torch, source, target))
    report.needs_samples()


def words_of(task: Task, device: Any) -> int:
    """Words of one buffer: what is asked for, but no more than a fifth of what is free. RuntimeError when that is nothing."""
    fits = device.free_bytes() // 5
    wanted = int(task.number("buffer_bytes", BUFFER_BYTES[device.kind], 4096, 1 << 40))
    if device.kind == "cuda":
        wanted = min(wanted, fits)
    if wanted < 4096:
        raise RuntimeError("only %d bytes of memory are free" % device.free_bytes())
    return wanted // patterns.WORD_BYTES


def compared(torch: Any, source: Any, target: Any) -> Tuple[int, List[Any]]:
    """Differences between two buffers, piece by piece, so that comparing takes little memory."""
    total = 0
    some = []  # type: List[Any]
    piece = 1 << 24
    for start in range(0, source.numel(), piece):
        count, found = bits.word_differences(torch, source[start:start + piece], target[start:start + piece], start, "copy")
        total += count
        some += found
    return total, some
