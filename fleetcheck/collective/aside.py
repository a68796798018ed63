"""What else the members of a trial say: kernel lines, counters that grew, the way of the data, last words. Runs on the controller; pure.

It goes into the trial's evidence, and is read back from there by the checks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fleetcheck.collective.ranks import OUTPUT, WORD, Member, member
from fleetcheck.records import Answer, Evidence

ERRORS = re.compile(r"err|drop|discard|downed|recovery|timeout|retry|retrans|sequence|integrity|overrun|icrc|carrier|missed|collision")
MOST_LINES = 50
MOST_COUNTERS = 200


def aside(evidence: Evidence) -> dict[str, Any]:
    """{boot_id, software, kernel: lines or absent, grew: {"eth0 rx_errors": by how much} or absent,
    counted: links and HCAs whose error counters were read before and after, way: NCCL's lines, said: last words of
    ranks that did not end well}, as JSON takes it.
    """
    told = member(evidence)
    answer = evidence.answers.get("rank_run", Answer(ok=False))
    data = answer.data if isinstance(answer.data, Mapping) else {}
    software = next((dict(rank.software) for rank in told.ranks if rank.software), {})
    return {"boot_id": told.boot_id, "software": software, "kernel": _kernel(data.get("kernel")),
            "grew": grew(data.get("before"), data.get("after")), "counted": counted(data.get("before"), data.get("after")),
            "way": _way(told),
            "said": {str(rank.number): rank.output[-OUTPUT:] for rank in told.ranks if rank.ended != "exit 0" and rank.output}}


def _kernel(told: object) -> Any:
    """Lines of interest that came during the trial."""
    if not isinstance(told, list):
        return {"absent": _reason(told)}
    return [str(each.get("text"))[:WORD] for each in told if isinstance(each, Mapping)][:MOST_LINES]


def _way(told: Member) -> list[str]:
    """What every rank says of NVLink SHARP, then the rest."""
    lines = dict.fromkeys(line for rank in told.ranks for line in rank.transport)
    return sorted(lines, key=lambda line: "NVLS multicast" not in line)[:MOST_LINES]


def _reason(told: object) -> str:
    return str(told.get("absent"))[:WORD] if isinstance(told, Mapping) and "absent" in told else "not told"


def grew(before: object, after: object) -> Any:
    """Error counters of links and HCAs that grew, by how much; one that fell was reset and counts from 0.

    >>> grew({"links": {"eth0": {"rx_errors": 5, "rx_bytes": 1}}}, {"links": {"eth0": {"rx_errors": 7, "rx_bytes": 9}}})
    {'eth0 rx_errors': 2}
    """
    pairs = _pairs(before, after)
    if not pairs:
        return {"absent": "no error counters were told"}
    found = {name: now - then if now > then else now for name, (then, now) in pairs.items() if now != then}
    return dict(sorted((name, by) for name, by in found.items() if by)[:MOST_COUNTERS])


def counted(before: object, after: object) -> list[str]:
    """Links and HCAs of which some error counter was read both times.

    >>> counted({"hcas": {"mlx5_0/1": {"counters": {"symbol_error": 3}}}}, {"hcas": {"mlx5_0/1": {"counters": {"symbol_error": 3}}}})
    ['mlx5_0/1']
    """
    return sorted({name.rpartition(" ")[0] for name in _pairs(before, after)})


def _pairs(before: object, after: object) -> dict[str, tuple[int, int]]:
    """(then, now) of every error counter that was read both times."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return {}
    earlier = dict(_leaves(before))
    return {name: (earlier[name], total) for name, total in _leaves(after)
            if name in earlier and ERRORS.search(name.rpartition(" ")[2])}


def _leaves(told: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """(``mlx5_0/1 symbol_error``, total) of every counter that was read."""
    for device, named in ((device, named) for kind in told.values() if isinstance(kind, Mapping) for device, named in kind.items()):
        groups = [named, *named.values()] if isinstance(named, Mapping) else []
        for group in groups:
            for name, total in group.items() if isinstance(group, Mapping) else ():
                if isinstance(total, int) and not isinstance(total, bool):
                    yield f"{device!s:.40} {name!s:.60}", total
