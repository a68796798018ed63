"""A fleet in parts: whose nodes and items are a shard's, where its run lies, and what all shards found as one run. Runs on the controller.

``--shard 3/16`` runs a sixteenth of the nodes by itself, in any process on any machine; ``--merge 16`` takes what all of them found,
runs what concerns several nodes, and judges the fleet.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetcheck import __version__
from fleetcheck.inventory import Inventory, InventoryError, Node
from fleetcheck.run import NAME, Run, RunError, began, disk, find
from fleetcheck.settings import Settings

STAGES = ("facts", "load")
"""What concerns a node alone."""
MOST = 999
OLDEST = datetime.timedelta(hours=26)
"""Between the first shard's begin and the last's: a night and a bit."""
FILES: Sequence[Callable[[Run], Path]] = (lambda run: run.plan, lambda run: run.results, lambda run: run.evidence)


@dataclass(frozen=True)
class Shard:
    """Part ``number`` of ``of``."""

    number: int
    of: int

    @classmethod
    def read(cls, text: str) -> Shard:
        """``3/16``. Raises ValueError.

        >>> Shard.read("3/16")
        Shard(number=3, of=16)
        """
        found = re.fullmatch(r"(\d{1,3})/(\d{1,3})", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise ValueError(f"{text!r} is no shard; write i/n, such as 3/16")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def folder(self, reports: Path) -> Path:
        """Where its runs are kept, apart from those of the whole fleet."""
        return reports / "shards" / f"{self.number}-of-{self.of}"


def many(text: str) -> int:
    """A number of shards. Raises ValueError."""
    if not text.isdecimal() or not 0 < int(text) <= MOST:
        raise ValueError(f"{text!r:.40} is no number of shards; expected one such as 16")
    return int(text)


def nodes_of(shard: Shard, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """A shard's nodes: whole racks, since power budgets are of racks. Raises InventoryError when there are none."""
    racks: dict[str, list[Node]] = {}
    for node in nodes:
        racks.setdefault(f"rack {rack}" if (rack := node.labels.get("rack", "")) else node.name, []).append(node)
    found: list[Node] = []
    begin = 0
    for members in racks.values():
        middle = 2 * begin + len(members)  # twice its place among all nodes
        if min(shard.of - 1, middle * shard.of // (2 * len(nodes))) == shard.number - 1:
            found += members
        begin += len(members)
    if not found:
        raise InventoryError(f"shard {shard} has no node: there are {len(nodes)} in {len(racks)} racks or by themselves, and a rack "
                             "is never cut; use fewer shards")
    return tuple(found)


def leaves_out(settings: Settings, stage: str, several: bool) -> bool:
    """Whether an item is none of this session's: a shard has no items of several nodes, a merge none that the shards had."""
    alone = not several and stage in STAGES
    return (bool(settings.shard) and not alone) or (settings.merge > 0 and alone)


def all_of(settings: Settings, inventory: Inventory) -> list[Run]:
    """The newest run of every shard, each ended, whole, and of this fleet as it is now. Raises RunError naming the shard."""
    found = [_newest(Shard(number, settings.merge), settings, inventory) for number in range(1, settings.merge + 1)]
    first, last = min(found, key=began), max(found, key=began)
    if began(last) - began(first) > OLDEST:
        raise RunError(f"{first.path} is older than {last.path} by {began(last) - began(first)}; run that shard again")
    return found


def _newest(shard: Shard, settings: Settings, inventory: Inventory) -> Run:
    folder = shard.folder(settings.reports)
    if not (folder / "latest").exists():
        raise RunError(f"no run of shard {shard} under {folder}: run it first, with --shard {shard}")
    run = find(folder, "latest")
    wrong = next(_misfits(run, shard, settings, inventory), "")
    if wrong:
        raise RunError(f"shard {shard}, {run.path}: {wrong}")
    return run


def _misfits(run: Run, shard: Shard, settings: Settings, inventory: Inventory) -> Iterator[str]:
    """Why a shard's run is no part of what is asked for now."""
    told, again = run.facts, f"run it again, with --shard {shard}"
    if not NAME.match(run.id) or not told:
        yield f"it has no run.json; {again}"
    if "ended" not in told or told.get("interrupted"):
        yield f"it was ended before all was judged; go on with it: --shard {shard} --resume latest"
    if told.get("version") != __version__:
        yield f"it was written by fleetcheck {told.get('version')}, this is {__version__}; {again}"
    for name, now in (("fleet", inventory.fleet), ("tier", settings.tier), ("nodes", settings.nodes), ("group", settings.group)):
        if told.get(name, "") != now:
            yield f"its {name} is {told.get(name, '')!r}, now it is {now!r}; give the same options, or {again}"
    if _texts(run.inventory()) != _texts(inventory):
        yield f"inventory or profiles have changed since; {again}"


def _texts(inventory: Inventory) -> list[str]:
    return [inventory.text, *sorted(inventory.profile_texts.values())]


def narrowed(own: str, found: Sequence[Run]) -> str:
    """Why this run or some of these did not run every check, in the words of the command lines."""
    said = [own.split(", "), *(str(run.facts.get("narrowed", "")).split(", ")[1:] for run in found)]  # the first says which shard
    return ", ".join(dict.fromkeys(part for each in said for part in each if part))


def join(run: Run, found: Sequence[Run]) -> None:
    """Plan, results and evidence of all shards as this run's own. Raises RunError."""
    for file in FILES:
        with disk(file(run)), file(run).open("ab") as out:
            for each in found:
                if file(each).exists():
                    out.writelines(_as_of(run, each, file(each)))


def _as_of(run: Run, shard: Run, path: Path) -> Iterator[bytes]:
    """The whole lines of a shard's file, which name the run that they are part of now."""
    old, new = f'{{"run":"{shard.id}",'.encode(), f'{{"run":"{run.id}",'.encode()
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield new + line[len(old):] if line.startswith(old) else line
