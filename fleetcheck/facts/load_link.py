"""Links under load: host to accelerator and accelerator to accelerator; which end a slow one points at. Runs on the controller."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.load_device import HIGHEST_RATE, Device
from fleetcheck.facts.section import Section
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts, Reading

_NUMBER = re.compile(r"(?:gpu|cuda|device|cpu)?[ :_-]?(\d{1,3})$", re.IGNORECASE)


class Link(Section):
    """One direction of one link. kind: such as h2d, d2h, p2p; ends: the accelerators at it, by index."""

    __slots__ = ("ends",)
    kind = Reading(str)

    def __init__(self, raw: object, where: str, part: Part | None, ends: tuple[int, ...]) -> None:
        super().__init__(raw, where, part)
        self.ends = ends

    @property
    def rate(self) -> float:
        """GB/s; raises NotMeasured where it is no plausible number."""
        value = self.get("gb_s", float)
        if isinstance(value, Absent):
            raise NotMeasured(value.reason)
        if not 0 <= value <= HIGHEST_RATE:
            raise NotMeasured(f"{self.label}: {value:g} GB/s, which no link reaches")
        return float(value)

    def wrong(self) -> Concern | bool:
        """Whether data arrived otherwise than it was sent."""
        count = self.get("mismatch_count", int)
        if isinstance(count, Absent):
            raise NotMeasured(count.reason)
        if count < 0:
            raise NotMeasured(f"{self.label}: mismatch_count is {count}")
        return bool(count) and Concern(f"{count} values arrived otherwise than they were sent")


def link_of(raw: object, load: str, devices: Parts[Device]) -> Link:
    """A link of a result, named by both ends; its part is the accelerator it leads to or from, where there is one alone."""
    told = raw if isinstance(raw, Mapping) else {}
    known = {view.label: view.part for view in devices.present}
    ends = [(told.get(end), _index(told.get(end), told.get("kind"), end)) for end in ("from", "to")]
    label = f"{_end(*ends[0])} → {_end(*ends[1])}"
    gpus = tuple(index for _, index in ends if index is not None)
    board = known.get(f"GPU {gpus[0]}") if len(gpus) == 1 else None
    kind = "gpu" if board else "link"
    return Link(raw, f"{load}.links", Part(kind, label, board.slot if board else "", board.serial if board else ""), gpus)


def _index(said: object, kind: object, end: str) -> int | None:
    """The accelerator at an end of a link; None for the host's end."""
    if (kind == "h2d" and end == "from") or (kind == "d2h" and end == "to"):
        return None
    if isinstance(said, int) and not isinstance(said, bool):
        return said
    found = _NUMBER.fullmatch(said) if isinstance(said, str) else None
    return int(found[1]) if found else None


def _end(said: object, index: int | None) -> str:
    return f"GPU {index}" if index is not None else f"{said!s:.30}"


def of_kind(links: Iterable[Link], kind: str, devices: Parts[Device], pairs: bool) -> Parts[Link]:
    """The links of one kind; every device, or every ordered pair of devices, must have one."""
    found = [link for link in links if isinstance(link.raw, Mapping) and link.raw.get("kind") == kind]
    count = devices.expected or len(devices.present)
    indices = range(count)
    told = {link.ends for link in found}
    wanted = [(one, other) for one in indices for other in indices if one != other] if pairs else [(one,) for one in indices]
    lacking = [f"{' → '.join(f'GPU {index}' for index in ends)}: no {kind}" for ends in wanted if ends not in told]
    gaps = lacking[:4] + ([f"and {len(lacking) - 4} links more"] if len(lacking) > 4 else [])
    return Parts(found, f"{kind} links", unreadable=[*gaps, *devices.gaps()])


def slow_ends(links: Parts[Link], devices: Parts[Device], bound: Bound) -> Parts[Suspect]:
    """Each slow link put down to one accelerator: the one at the end of most slow links first; a lone slow link to both its ends."""
    slow = [link for link in links.present if _slow(link, bound)]
    blamed = culprits([link.ends for link in slow])
    worst = {index: [link for link in slow if index in link.ends] for index in blamed}
    by_index = {view.label: view.part for view in devices.present}
    found = [Suspect(links_of, by_index.get(f"GPU {index}") or Part("gpu", f"GPU {index}"), bound) for index, links_of in worst.items()]
    return Parts(found, links.what, unreadable=[*links.gaps(), *_unread(links.present)])


def relative_bound(links: Parts[Link], fraction: Bound) -> Bound:
    """A fraction of the median rate of these links, as a limit in GB/s; raises NotMeasured where no link told a rate."""
    rates = [link.rate for link in links.present if not _unread([link])]
    if not rates or fraction.low is None:
        raise NotMeasured("; ".join(links.gaps()) or "no link told its rate")
    return Bound(low=round(fraction.low * median(rates), 2), unit="GB/s", source=fraction.source, date=fraction.date)


def _slow(link: Link, bound: Bound) -> bool:
    try:
        return link.rate not in bound
    except NotMeasured:
        return False


def _unread(links: Iterable[Link]) -> list[str]:
    reasons = []
    for link in links:
        try:
            _ = link.rate
        except NotMeasured as gap:
            reasons.append(str(gap))
    return reasons[:4]


class Suspect(Section):
    """An accelerator at the end of slow links."""

    __slots__ = ("bound", "links")

    def __init__(self, links: Sequence[Link], part: Part, bound: Bound) -> None:
        super().__init__({}, "links", part)
        self.links = links
        self.bound = bound

    def concern(self) -> Concern:
        """Its worst link, and how many are slow."""
        worst = min(self.links, key=lambda link: link.rate)
        more = f"; {len(self.links)} of its links are slow" if len(self.links) > 1 else ""
        return Concern(f"{worst.label} {worst.rate:.4g} GB/s (limit {self.bound}){more}")


def culprits(ends: Sequence[tuple[int, ...]]) -> list[int]:
    """The fewest accelerators, found greedily, that touch all these links; both ends of a link that nothing else explains.

    >>> culprits([(0, 3), (3, 1), (3, 2), (5, 6)])
    [3, 5, 6]
    """
    left, found = list(ends), list[int]()
    while left:
        counts = Counter(index for pair in left for index in dict.fromkeys(pair))
        if not counts:
            break
        most = max(counts.values())
        guilty = [index for index, count in counts.items() if count == most]
        found += guilty if most == 1 else guilty[:1]
        left = [pair for pair in left if not set(pair) & set(found)]
    return found
