"""Runs on the node: copies between the host's memory and each device, both ways and from every NUMA node: GB/s, and whether all arrives."""

import contextlib
import threading
from typing import Any, Dict, Iterator

from fleetcheck.node.loads import atwork, bits, numa, patterns
from fleetcheck.node.loads.links import Links, worst
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Task

SCOPE = "node"
TORCH = True

BUFFER_BYTES = {"cuda": 256 << 20, "cpu": 1 << 20}
COPIES = {"cuda": 16, "cpu": 2}
TILE_WORDS = 1 << 13
TURN_WAIT_SECONDS = 10.0


def run(task: Task) -> Dict[str, Any]:
    """Settings: buffer_bytes. One device is measured at a time: what they do together is the root complex's, not the link's."""
    links, sides = Links(), numa.nodes()
    turn = threading.Lock()

    def work(task: Task, device: Any, report: Report) -> None:
        device_work(task, device, report, links, sides, turn)

    told = atwork.run(task, work)
    entries = links.told()
    return dict(told, links=entries, worst=worst(entries), numa_not_measured=[numa.label(number) for number in numa.left_out()])


def device_work(task: Task, device: Any, report: Report, links: Links, sides: Any, turn: Any) -> None:
    """One device: both directions from each NUMA node, turn after turn."""
    report.doing = "pinning host memory"
    hosts = {side: Host(task, device, side, processors) for side, processors in sides.items()}
    task.begin()
    first = True
    while first or not task.over():
        for host in hosts.values():
            if task.over():
                break
            with taken(turn):
                host.turn(report, links)
        first = False
    for kind in ("h2d", "d2h"):
        own = [links.gb_s(key) for key in links.keys() if key[0] == kind and device.index in key[1:]]
        if own:
            report.tell("%s_gb_s" % kind, round(max(own), 9))
        else:
            report.fail("no %s copy within %g s" % (kind, task.seconds))


@contextlib.contextmanager
def taken(turn: Any) -> Iterator[None]:
    """The turn; one that a hanging device keeps is not waited for any longer."""
    held = turn.acquire(timeout=TURN_WAIT_SECONDS)
    try:
        yield
    finally:
        if held:
            turn.release()


class Host:
    """Pinned memory on one NUMA node and its copies to and from one device."""

    def __init__(self, task: Task, device: Any, side: int, processors: Any) -> None:
        self.device = device
        self.side = side
        self.processors = processors
        torch = device.torch
        tiles = max(1, int(task.number("buffer_bytes", BUFFER_BYTES[device.kind], 1 << 16, 1 << 36)) // (8 * TILE_WORDS))
        self.bytes = tiles * TILE_WORDS * 8
        with numa.bound(processors):
            self.there, self.back = (device.pinned(self.bytes).view(torch.int64) for _ in range(2))
            self.there.view(tiles, TILE_WORDS).copy_(patterns.words(torch, TILE_WORDS, task.seed, "cpu"))
            self.back.zero_()
        self.tile = patterns.words(torch, TILE_WORDS, task.seed, device.at)
        self.sent = self.tile.repeat(tiles)
        self.on_device = torch.zeros_like(self.sent)

    def turn(self, report: Report, links: Links) -> None:
        """Both directions once, with the thread on this NUMA node's processors."""
        with numa.bound(self.processors):
            self.direction(report, links, "h2d", self.there, self.on_device)
            self.direction(report, links, "d2h", self.sent, self.back)
            self.on_device.zero_()
            self.back.zero_()

    def direction(self, report: Report, links: Links, kind: str, source: Any, target: Any) -> None:
        """Some copies one way; the last is compared with what was sent."""
        device = self.device
        name = numa.label(self.side)
        ends = (name, device.index) if kind == "h2d" else (device.index, name)
        report.doing = "copying %s → %s" % ends
        count = COPIES[device.kind]
        seconds = device.timed(lambda: device.copy(target, source), count, device.pace(self.bytes))
        device.sync()
        expected = self.tile if kind == "h2d" else self.there[:TILE_WORDS]
        wrong, some = bits.differences(device.torch, expected.expand(target.numel() // TILE_WORDS, TILE_WORDS), target, kind,
                                       "%s → %s," % ends)
        report.mismatch(wrong, some)
        rate = count * self.bytes / seconds / 1e9
        report.sample("%s_%s_gb_s" % (kind, name), count * self.bytes / 1e9, seconds)
        local = device.local_numa()
        links.add((kind,) + ends, rate, wrong, **({"local": local == self.side} if local >= 0 and self.side >= 0 else {}))
