"""Runs on the node: copies from every device to every other: a matrix of GB/s, and whether all arrives."""

import statistics
from typing import Any, Dict, Iterator, List, Tuple

from fleetcheck.node.loads import atwork, bits, patterns
from fleetcheck.node.loads.device import in_words
from fleetcheck.node.loads.links import Links, worst
from fleetcheck.node.loads.report import Report
from fleetcheck.node.loads.task import Task

SCOPE = "node"
TORCH = True

BUFFER_BYTES = {"cuda": 256 << 20, "cpu": 1 << 18}
COPIES = {"cuda": 16, "cpu": 2}

Ends = Tuple[atwork.Pair, atwork.Pair]


def run(task: Task) -> Dict[str, Any]:
    """Settings: buffer_bytes. One pair at a time, so that a slow link is not taken for a busy one."""
    links = Links()

    def work(task: Task, pairs: List[atwork.Pair], told: Dict[str, Any]) -> None:
        Matrix(task, pairs, links).measure()

    result = atwork.run_as_one(task, work)
    entries = links.told()
    return dict(result, links=entries, worst=worst(entries), error=lacking(result["devices"], links))


def lacking(devices: List[Dict[str, Any]], links: Links) -> str:
    """Which links have no rate, in words; "" when all have one."""
    indices = [device["index"] for device in devices]
    known = {key[1:] for key in links.keys()}
    missing = ["%d → %d" % (one, other) for one in indices for other in indices if one != other and (one, other) not in known]
    more = " and %d more" % (len(missing) - 4) if len(missing) > 4 else ""
    return "no rate of %s%s" % (", ".join(missing[:4]), more) if missing else ""


class Matrix:
    """All ordered pairs of devices. Devices that break are left out of further pairs."""

    def __init__(self, task: Task, pairs: List[atwork.Pair], links: Links) -> None:
        self.task = task
        self.pairs = pairs
        self.links = links
        self.buffers = {}  # type: Dict[int, Any]
        self.count = 0

    def measure(self) -> None:
        """Every pair, again and again until the end; the first time all pairs, unless time is over."""
        words = int(self.task.number("buffer_bytes", BUFFER_BYTES[self.pairs[0][1].kind], 1 << 12, 1 << 36)) // patterns.WORD_BYTES
        self.count = words
        for pair in self.pairs:
            self.tried([pair], lambda pair=pair: self.fill(*pair))
        self.task.begin()
        while not self.task.over() and len(self.living()) > 1:
            for source, target in rounds(self.living()):
                if self.task.over():
                    break
                if not (source[0].error or target[0].error):
                    self.one(source, target)
        self.sum_up()

    def living(self) -> List[atwork.Pair]:
        """The devices without an error."""
        return [pair for pair in self.pairs if not pair[0].error]

    def fill(self, report: Report, device: Any) -> None:
        """What the device sends, what it expects, and where it receives."""
        report.doing = "filling buffers"
        device.use()
        sent = patterns.words(device.torch, self.count, self.task.seed, device.at)
        self.buffers[device.index] = (sent, sent.clone(), device.torch.zeros_like(sent))
        device.sync()

    def one(self, source: atwork.Pair, target: atwork.Pair) -> None:
        """One pair's turn."""
        key = ("p2p", source[1].index, target[1].index)
        for report, _ in (source, target):
            report.doing = "copying %d → %d" % key[1:]
        error = self.tried([source, target], lambda: self.copy(key, source, target))
        if error:
            self.links.failed(key, error)

    def copy(self, key: Any, source: atwork.Pair, target: atwork.Pair) -> None:
        """Copies on the source's stream into the target's cleared buffer, compared there."""
        sender, receiver = source[1], target[1]
        sent, (_, expected, arrived) = self.buffers[sender.index][0], self.buffers[receiver.index]
        receiver.use()
        arrived.zero_()
        receiver.sync()
        sender.use()
        count = COPIES[sender.kind]
        size = self.count * patterns.WORD_BYTES
        seconds = sender.timed(lambda: sender.copy(arrived, sent, receiver), count, sender.pace(size), receiver)
        sender.sync()
        receiver.use()
        wrong, _ = bits.differences(receiver.torch, expected, arrived, "p2p")
        self.links.add(key, count * size / seconds / 1e9, wrong, peer_access=sender.reaches(receiver))
        self.task.emit(sender.index, "p2p_to_%d_gb_s" % receiver.index, round(count * size / seconds / 1e9, 9))

    def tried(self, pairs: List[atwork.Pair], work: Any) -> str:
        """Work that may break a device; what broke. The device that does not answer afterwards has the error."""
        try:
            work()
        except RuntimeError as error:
            atwork.blame(pairs, in_words(error))
            return in_words(error)
        return ""

    def sum_up(self) -> None:
        """p2p_gb_s of a device: the median of all its links, which one bad partner does not move."""
        for report, device in self.pairs:
            own = [self.links.gb_s(key) for key in self.links.keys() if device.index in key[1:]]
            if own:
                report.tell("p2p_gb_s", round(statistics.median(own), 9))


def rounds(pairs: List[atwork.Pair]) -> Iterator[Ends]:
    """All ordered pairs, so that every device soon has had a turn: each with its neighbour, then with the next but one."""
    for step in range(1, len(pairs)):
        for place, source in enumerate(pairs):
            yield source, pairs[(place + step) % len(pairs)]
