"""Machines and pieces that are not where they were: two names for one machine, a swapped part. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CHASSIS = "chassis"
MANY = 4
"""So many changes of one node are told as one; a serial at more names than this is a filler of the vendor's."""
FILLERS = frozenset({"", "0", "none", "n/a", "na", "unknown", "not specified", "not available", "default string", "default",
                     "to be filled by o.e.m.", "system serial number", "chassis serial number", "0123456789", "123456789", "serial number",
                     "no dimm"})


@dataclass(frozen=True, order=True)
class Place:
    """Where a piece sits. slot: within the node; ``machine`` for the machine itself."""

    node: str
    kind: str
    slot: str

    def __str__(self) -> str:
        return self.node if self.kind == CHASSIS else f"{self.node} {self.kind} {self.slot}"


@dataclass(frozen=True)
class Exchange:
    """Something that is not where it was. kind: two-names, another-machine, moved-part, swapped-part."""

    kind: str
    nodes: tuple[str, ...]
    message: str


def is_serial(text: str) -> bool:
    """Whether a text tells pieces apart; firmware puts fillers where nobody wrote a serial.

    >>> is_serial("1650000400352"), is_serial("To Be Filled By O.E.M."), is_serial("0000000")
    (True, False, False)
    """
    return text.strip().lower() not in FILLERS and len(set(text.strip())) > 1


def exchanges(now: Mapping[Place, str], before: Mapping[Place, str]) -> list[Exchange]:
    """What changed. now: place → serial in this run; before: the latest known of every place in earlier runs."""
    now, before = _known(now), _known(before)
    doubled, doubles = _doubles(now)
    changed: dict[str, list[Place]] = {}
    for place, serial in now.items():
        if serial not in doubled and before.get(place, serial) != serial:
            changed.setdefault(place.node, []).append(place)
    gone_to = {serial: place for place, serial in before.items()}
    moved = [each for node, places in changed.items() for each in _changes(node, places, now, before, gone_to)]
    return [*doubles, *moved, *_renamed(now, before, doubled)]


def _known(serials: Mapping[Place, str]) -> dict[Place, str]:
    return {place: serial for place, serial in serials.items() if is_serial(serial)}


def _doubles(now: Mapping[Place, str]) -> tuple[set[str], list[Exchange]]:
    """Serials at several names of this run, and what that means: the pieces of a machine with two names are not told again."""
    places: dict[tuple[str, str], list[Place]] = {}
    for place, serial in now.items():
        places.setdefault((place.kind, serial), []).append(place)
    several = {key: found for key, found in places.items() if 1 < len({each.node for each in found}) <= MANY}
    machines = [_names(found) for (kind, _), found in several.items() if kind == CHASSIS]
    told = [_double(kind, serial, found) for (kind, serial), found in several.items()
            if kind == CHASSIS or not any(set(_names(found)) <= set(names) for names in machines)]
    return {serial for _, serial in several}, told


def _names(found: Sequence[Place]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.node for each in found))


def _double(kind: str, serial: str, found: Sequence[Place]) -> Exchange:
    names = _names(found)
    if kind == CHASSIS:
        return Exchange("two-names", names, f"one machine, serial {serial}, answers under {len(names)} names: {', '.join(names)}; "
                                            "correct the addresses in the inventory, or the serial in the firmware")
    return Exchange("two-names", names, f"{kind} serial {serial} is told by {' and '.join(map(str, found))}; one of them is wrong")


def two_names(serials: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """The other names under which a node's machine answers. serials: of machines, by node, as they told.

    >>> two_names({"a": "S1", "b": "S1", "c": "S2"})
    {'a': ('b',), 'b': ('a',)}
    """
    names: dict[str, list[str]] = {}
    for name, serial in serials.items():
        if is_serial(serial):
            names.setdefault(serial, []).append(name)
    several = [found for found in names.values() if 1 < len(found) <= MANY]
    return {name: tuple(other for other in found if other != name) for found in several for name in found}


def _changes(node: str, places: Sequence[Place], now: Mapping[Place, str], before: Mapping[Place, str],
             gone_to: Mapping[str, Place]) -> Iterable[Exchange]:
    """The changes of one node: another machine altogether, or piece by piece."""
    chassis = next((place for place in places if place.kind == CHASSIS), None)
    if chassis:
        was = gone_to.get(now[chassis])
        origin = f", which stood at {was.node} before" if was and was.node != node else ""
        yield Exchange("another-machine", (node,), f"another machine stands at {node}: {now[chassis]}, was {before[chassis]}{origin}; "
                                                   "its history follows its serial")
        return
    for place in places[:MANY]:
        was = gone_to.get(now[place])
        if was and was != place:
            yield Exchange("moved-part", (node,), f"{place}: serial {now[place]}, in {was} before, is here in place of {before[place]}")
        else:
            yield Exchange("swapped-part", (node,), f"{place}: swapped, serial {now[place]} in place of {before[place]}")
    if len(places) > MANY:
        yield Exchange("swapped-part", (node,), f"{node}: {len(places) - MANY} more parts have other serials than before")


def _renamed(now: Mapping[Place, str], before: Mapping[Place, str], doubled: set[str]) -> Iterable[Exchange]:
    """A machine known under another name that this run asked nothing of, at a name that had none before."""
    named = {serial: place.node for place, serial in before.items() if place.kind == CHASSIS}
    here = {place.node for place in now}
    for place, serial in now.items():
        was = named.get(serial)
        if place.kind == CHASSIS and place not in before and serial not in doubled and was and was != place.node and was not in here:
            yield Exchange("two-names", (was, place.node), f"the machine with serial {serial} was {was} in earlier runs and answers as "
                                                           f"{place.node} now; its history follows its serial")
