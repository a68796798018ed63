"""Runs on the node: which load comes next and how long it may take, by the seconds that are left. Pure."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional

START_SECONDS = 30.0
LATE_SHARE = 0.25
LATE_SECONDS = 120.0
LEAST_SECONDS = 5.0


class Turn(NamedTuple):
    """One load's turn: seconds it shall run and after which it is ended whatever it does; cut: no time for all it wants."""

    load: str
    seconds: float
    ends_in: float
    settings: Dict[str, Any]
    cut: bool

    @property
    def hurried(self) -> bool:
        """Whether it is ended sooner than is fair, since the time of the whole is over: a busy node is no broken one."""
        return self.ends_in < self.seconds + LATE_SECONDS


class Schedule:
    """Loads one after the other, over and over when ``repeat`` is set."""

    def __init__(self, entries: List[Dict[str, Any]], repeat: bool) -> None:
        self.entries = entries
        self.repeat = repeat
        self.number = 0

    def next(self, left: float) -> Optional[Turn]:
        """The next turn within the seconds left; None when all is done or there is no time for another."""
        if not self.repeat and self.number >= len(self.entries):
            return None
        entry = self.entries[self.number % len(self.entries)]
        if self.number and left < min(entry["seconds"], LEAST_SECONDS):
            return None
        self.number += 1
        late = min(START_SECONDS, left * LATE_SHARE)
        return Turn(entry["load"], min(entry["seconds"], left - late), min(entry["seconds"] + LATE_SECONDS, left),
                    entry["settings"], entry["seconds"] > left - late)

    def complete(self) -> bool:
        """Whether every load had its turn."""
        return self.number >= len(self.entries)


def groups(scope: str, device: str, devices: List[int]) -> Iterator[List[int]]:
    """The devices of each process: one an accelerator for loads of a device's scope, else one over all."""
    if scope == "device" and device == "cuda":
        for index in devices:
            yield [index]
    else:
        yield devices
