"""Checksums of fixed-seed results against each other: repeats, accelerators of a node, nodes of one profile. Runs on the controller.

Equal inputs, software and hardware give equal bits. Who differs from a majority computes wrongly; where there is no majority, somebody
does, and nobody can say who. That nobody differs is no proof that all are right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleetcheck import recording
from fleetcheck.absent import NotMeasured
from fleetcheck.facts.load_device import Device
from fleetcheck.facts.load_result import Result
from fleetcheck.groups import ByNode, blamed, odd_among
from fleetcheck.inventory import Node
from fleetcheck.recording import Concern, Offender
from fleetcheck.view import Parts

NAMED_CASES = 3


def majority(values: Mapping[str, str]) -> str:
    """The value that more than half of at least three share; empty where there is none.

    >>> majority({"0": "a", "1": "a", "2": "b"}), majority({"0": "a", "1": "b"})
    ('a', '')
    """
    value, count = Counter(values.values()).most_common(1)[0]
    return value if len(values) > 2 and 2 * count > len(values) else ""


def odd_ones(result: Result) -> list[Offender]:
    """The accelerators of a node whose results differ from the others': by majority the odd one, fatal; without one all that
    differ, degraded."""
    sums, gaps = _sums(result.devices)
    offenders = [offender for device in sums for offender in _judged(device, sums)]
    changed, unclear = _on_the_way(result)
    offenders, gaps = [*offenders, *changed], [*gaps, *unclear]
    running = recording.current()
    if running is not None:
        running.offenders.extend(offenders)
        running.coverage.append(result.devices.coverage)
    if not offenders and (gaps or len(sums) < 2):
        raise NotMeasured("; ".join(gaps) or "one accelerator alone has nothing to compare with")
    return offenders


def _on_the_way(result: Result) -> tuple[list[Offender], list[str]]:
    """Results that changed between two accelerators without a third to say where: both may be at fault; and what cannot be read."""
    told = result.raw.get("undecided", []) if isinstance(result.raw, Mapping) else []
    labels = {device.label: device for device in result.devices.present}
    found, gaps = list[Offender](), [] if isinstance(told, list) else [f"{result.where}.undecided is {told!r:.60}"]
    for each in told if isinstance(told, list) else []:
        if isinstance(each, Mapping) and "checksums" in each:
            continue  # judged from the checksums themselves
        ends = [f"GPU {each.get(end)}" for end in ("from", "to")] if isinstance(each, Mapping) else []
        if not ends or not set(ends) <= set(labels):
            gaps.append(f"{result.where}.undecided holds {each!r:.80}")
            continue
        text = f"{each.get('case')!s:.60} from {ends[0]} to {ends[1]}: {each.get('reason')!s:.120}"
        found += [_offender(labels[end], Concern(text, "degraded", "isolate")) for end in ends]
    return found, gaps


def _sums(devices: Parts[Device]) -> tuple[dict[Device, dict[str, str]], list[str]]:
    found, gaps = {}, list(devices.gaps())
    for device in devices.present:
        try:
            found[device] = device.checksums()
        except NotMeasured as gap:
            gaps.append(str(gap))
    cases = {case for sums in found.values() for case in sums}
    gaps += [f"{device.label}: no result of {', '.join(sorted(cases - set(sums))[:NAMED_CASES])}" for device, sums in found.items()
             if cases - set(sums)]
    return found, gaps


def _judged(device: Device, sums: Mapping[Device, Mapping[str, str]]) -> Iterator[Offender]:
    """What one accelerator's results say of it."""
    wrong, undecided = [], []
    for case, own in sums[device].items():
        values = {other.label: told[case] for other, told in sums.items() if case in told}
        usual = majority(values) if len(set(values.values())) > 1 else own
        if not usual:
            undecided.append(f"{case} {own:.16}")
        elif own != usual:
            wrong.append(f"{case} {own:.16}, on {sum(value == usual for value in values.values())} of {len(values)} it is {usual:.16}")
    if wrong:
        yield _offender(device, Concern(f"computes otherwise than its peers: {_some(wrong)}"))
    elif undecided:
        text = f"accelerators differ and no majority says which is wrong: {_some(undecided)}"
        yield _offender(device, Concern(text, "degraded", "isolate"))


def _offender(device: Device, concern: Concern) -> Offender:
    return Offender(device.part, f"{device.label}: {concern.text}", concern.severity, concern.action, concern.cause)


def _some(cases: list[str]) -> str:
    more = len(cases) - NAMED_CASES
    return "; ".join(cases[:NAMED_CASES]) + (f"; and {more} cases more" if more > 0 else "")


def agreed(result: Result) -> dict[str, str]:
    """{case: checksum} that most accelerators of a node share; raises NotMeasured where they share none."""
    sums, _ = _sums(result.devices)
    if not sums:
        raise NotMeasured("; ".join(result.devices.gaps()) or "no accelerator told a checksum")
    cases: dict[str, dict[str, str]] = {}
    for device, told in sums.items():
        for case, value in told.items():
            cases.setdefault(case, {})[device.label] = value
    found = {case: next(iter(values.values())) if len(set(values.values())) == 1 else majority(values) for case, values in cases.items()}
    if not all(found.values()):
        raise NotMeasured("the node's own accelerators do not agree")
    return found


def odd_nodes(results: ByNode) -> list[Offender]:
    """The nodes whose results differ from those of nodes with the same accelerators and software, case by case.

    Nodes of other software are compared among themselves; one that has no like is left out. Raises NotMeasured when none has.
    """
    told: dict[str, list[tuple[Node, dict[str, str]]]] = {}
    for node, result in results:
        try:
            told.setdefault(_kind(result), []).append((node, agreed(result)))
        except NotMeasured:
            continue
    alike = [sums for sums in told.values() if len(sums) > 1]
    if not alike:
        raise NotMeasured("no two nodes told checksums of the same accelerators and software: nothing to compare")
    return blamed([offender for sums in alike for offender in _among(sums)])


def _kind(result: Result) -> str:
    """Accelerators and software, which together decide the bits."""
    names: set[Any] = {device.name for device in result.devices.present}
    return f"{', '.join(sorted(str(name) for name in names))}: {result.software}"


def _among(told: Sequence[tuple[Node, Mapping[str, str]]]) -> list[Offender]:
    """The odd nodes among those of one kind, by the first case in which each differs; cases that not all ran are left out."""
    sums = {node.name: cases for node, cases in told}
    shared = set.intersection(*(set(cases) for cases in sums.values()))
    if not shared:
        raise NotMeasured("nodes of the same software ran no case in common")
    odd = sorted(case for case in shared if len({cases[case] for cases in sums.values()}) > 1)
    found: dict[str, Offender] = {}
    for case in odd:
        for offender in odd_among(f"result of {case}", [(node, cases[case][:16]) for node, cases in told]):
            found.setdefault(offender.part.label if offender.part else "", offender)
    return list(found.values())
