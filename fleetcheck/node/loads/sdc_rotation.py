"""Runs on the node: results of one device carried to another and compared there; who is wrong by majority, or that nobody can say."""

from collections import Counter
from typing import Any, Dict, List, Optional

from fleetcheck.node.loads import atwork, bits
from fleetcheck.node.loads.device import in_words
from fleetcheck.node.loads.links import Links
from fleetcheck.node.loads.sdc_cases import Case

MOST_UNDECIDED = 64


class Rotation:
    """Comparisons across devices. told: the result's own part, with what nobody can decide."""

    def __init__(self, told: Dict[str, Any]) -> None:
        self.links = Links()
        self.told = told
        self.undecided = told.setdefault("undecided", [])

    def majority(self, case: Case, pairs: List[atwork.Pair], results: Dict[int, Any]) -> None:
        """The first results of a case: who differs from more than half of at least three is wrong."""
        sums = {report.index: report.checksums[case.name] for report, _ in pairs}
        if len(set(sums.values())) < 2:
            return
        usual, count = Counter(sums.values()).most_common(1)[0]
        if len(sums) < 3 or 2 * count <= len(sums):
            self.say_undecided({"case": case.name, "checksums": {str(index): value for index, value in sums.items()},
                                "reason": "accelerators differ and no majority says which is wrong"})
            return
        sound = next(device for _, device in pairs if sums[device.index] == usual)
        for report, device in pairs:
            if sums[device.index] != usual:
                expected = carried(results[sound.index], sound, device)
                report.mismatch(*bits.differences(device.torch, expected, results[device.index],
                                                  "differs from %d of %d accelerators" % (count, len(sums)), "%s," % case.name))

    def turn(self, case: Case, pairs: List[atwork.Pair], results: Dict[int, Any], cycle: int) -> int:
        """Carry each result one device further, another distance each cycle, and compare it there; how many were compared."""
        count = len(pairs)
        if count < 2:
            return 0
        step = 1 + cycle % (count - 1)
        for place, source in enumerate(pairs):
            self.tried(case, source, pairs[(place + step) % count], pairs, results)
        self.told["links"] = self.links.told()
        return count

    def tried(self, case: Case, source: atwork.Pair, target: atwork.Pair, pairs: List[atwork.Pair], results: Dict[int, Any]) -> None:
        """One result carried, unless either end is broken; an error of the copy is put down to the end that does not answer any more."""
        if source[0].error or target[0].error:
            return
        try:
            self.one(case, source, target, pairs, results)
        except RuntimeError as error:
            if not atwork.blame([source, target], in_words(error)):
                self.say_undecided({"case": case.name, "from": source[1].index, "to": target[1].index, "reason": in_words(error)})

    def one(self, case: Case, source: atwork.Pair, target: atwork.Pair, pairs: List[atwork.Pair], results: Dict[int, Any]) -> None:
        """One result carried and compared. Devices that computed differently were told apart; a copy that changed is looked into."""
        sender, receiver = source[1], target[1]
        source[0].doing = target[0].doing = "carrying %s from %d to %d" % (case.name, sender.index, receiver.index)
        arrived = carried(results[sender.index], sender, receiver)
        count, some = bits.differences(receiver.torch, results[receiver.index], arrived,
                                       "on the way from %d to %d" % (sender.index, receiver.index), "%s," % case.name)
        on_the_way = count if count and self.same(results, sender, receiver) else 0
        self.links.count(("rotation", sender.index, receiver.index), on_the_way)
        if not on_the_way:
            return
        guilty = self.guilty(source, target, pairs, results)
        if guilty:
            guilty[0].mismatch(count, some)
        else:
            self.say_undecided({"case": case.name, "from": sender.index, "to": receiver.index, "mismatch_count": count,
                                "reason": "a result changed on the way and no third accelerator says at which end"})

    def same(self, results: Dict[int, Any], one: Any, other: Any) -> bool:
        """Whether two devices hold the same bits, as the host sees them."""
        return bits.checksum(results[one.index]) == bits.checksum(results[other.index])

    def guilty(self, source: atwork.Pair, target: atwork.Pair, pairs: List[atwork.Pair], results: Dict[int, Any]) -> Optional[atwork.Pair]:
        """The end of a copy that also fails with a third device; None when both do, or neither, or there is none."""
        for third in pairs:
            if third[1] is not source[1] and third[1] is not target[1] and not third[0].error:
                sends = self.arrives(source[1], third[1], results)
                receives = self.arrives(third[1], target[1], results)
                if sends != receives:
                    return source if receives else target
        return None

    def arrives(self, sender: Any, receiver: Any, results: Dict[int, Any]) -> bool:
        """Whether a result arrives as it was sent."""
        arrived = carried(results[sender.index], sender, receiver)
        return bits.checksum(arrived) == bits.checksum(results[sender.index])

    def say_undecided(self, entry: Dict[str, Any]) -> None:
        """Something is wrong, and nobody can say with whom."""
        if len(self.undecided) < MOST_UNDECIDED:
            self.undecided.append(entry)


def carried(result: Any, sender: Any, receiver: Any) -> Any:
    """A copy of a result in another device's memory."""
    receiver.use()
    arrived = receiver.torch.empty_like(result, device=receiver.at)
    receiver.sync()
    sender.use()
    sender.copy(arrived, result, receiver)
    sender.sync()
    receiver.use()
    receiver.sync()
    return arrived
