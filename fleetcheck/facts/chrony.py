"""What chronyd says of the source it follows: which, how far off, and when it was last heard. Runs on the controller.

chronyd keeps its leap status Normal for days after its last source fell silent: it goes by what it remembers. So the age of
the last sample is judged too, by chrony's own count of it, and by the reference time only where no source tells it: that one is a
reading of the clock, which looks old after the clock was set.
"""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fleetcheck.absent import NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.growth import noted

LOCAL_REFERENCES = ("00000000", "7F7F0101", "7F7F0100", "127.127.1.1", "127.127.1.0")
"""No reference, or chronyd set to follow its own clock."""
UNSYNCHRONISED_STRATUM = 16
UNREACHABLE_POLLS = 8
"""RFC 5905: a source that answered none of the last eight polls is unreachable."""
_AGE = {"": 1, "m": 60, "h": 3600, "d": 86400, "y": 31_557_600}
_SOURCE = re.compile(r"^([\^=#])([*+\-?x~])\s+(\S+)\s+(\d+)\s+(-?\d+)\s+([0-7]+)\s+(-|\d+[mhdy]?)\s", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """One row of ``chronyc sources``. kind: ``#`` is a reference clock; state: ``*`` followed, ``+`` combined with it."""

    kind: str
    state: str
    name: str
    poll_seconds: float
    heard_seconds: float | None


def tracking(text: str) -> dict[str, str]:
    """The rows of ``chronyc tracking``.

    >>> tracking("Reference ID    : 00000000 ()\\nStratum         : 0\\n")["Stratum"]
    '0'
    """
    rows = (line.partition(" : ") for line in text.splitlines())
    return {key.strip(): value.strip() for key, colon, value in rows if colon}


def without_source(rows: Mapping[str, str]) -> str:
    """Why chrony follows no source; empty when it follows one. Raises NotMeasured on an answer that is not chrony's."""
    if not {"Reference ID", "Stratum", "Leap status"} <= set(rows) or not rows["Stratum"].isdigit():
        raise NotMeasured(f"not chronyc's tracking: {dict(rows)!r:.120}")
    if rows["Leap status"] == "Not synchronised":
        return "leap status: Not synchronised"
    reference, stratum = rows["Reference ID"].split()[0], int(rows["Stratum"])
    if reference in LOCAL_REFERENCES:
        return f"reference {reference}: its own clock"
    return f"stratum {stratum}" if not 0 < stratum < UNSYNCHRONISED_STRATUM else ""


def none_selected(text: str) -> str:
    """Why chrony only remembers a source: of those that ``chronyc sources`` lists it has selected none; else empty.

    >>> none_selected("^? 10.0.0.1   2   6   0   -   +0ns[   +0ns] +/-    0ns")
    'none of its 1 sources is selected, it goes by what it remembers'
    """
    states = re.findall(r"^[\^=#]([*+\-?x~])\s", text, re.MULTILINE)
    if not states or "*" in states:
        return ""
    return f"none of its {len(states)} sources is selected, it goes by what it remembers"


def sources(text: str) -> list[Source]:
    """The rows of ``chronyc sources``.

    >>> sources("^* 10.0.0.1   2   6   377   22h   +12us[  +15us] +/-  210us")[0].heard_seconds
    79200.0
    """
    return [
        Source(kind, state, name, 2.0 ** int(poll), None if last == "-" else float(last.rstrip("mhdy")) * _AGE[last.lstrip("0123456789")])
        for kind, state, name, _stratum, poll, _reach, last in _SOURCE.findall(text)
    ]


def unheard(rows: Mapping[str, str], listed: list[Source], allowed: Bound, now_seconds: Callable[[], Sequence[float]]) -> str:
    """Why what chrony follows is a memory: no source it goes by was heard for longer than allowed and than eight of its polls."""
    followed = [each for each in listed if each.state in "*+" and each.heard_seconds is not None]
    polls = max((each.poll_seconds for each in listed if each.state in "*+"), default=0.0)
    ages = [each.heard_seconds for each in followed if each.heard_seconds is not None]
    age = noted("clock.heard_seconds", min(ages) if ages else reference_age_seconds(rows, now_seconds()))
    if age in allowed or age <= UNREACHABLE_POLLS * polls:
        return ""
    name = followed[0].name if followed else rows["Reference ID"]
    return f"{name} was last heard {age / 3600:.1f} hours ago, the leap status is what chrony remembers"


def reference_age_seconds(rows: Mapping[str, str], now_seconds: Sequence[float]) -> float:
    """How long ago chrony last took its source's time, by whichever clock makes it the least; raises NotMeasured."""
    try:
        stamp = calendar.timegm(time.strptime(rows.get("Ref time (UTC)", ""), "%a %b %d %H:%M:%S %Y"))
    except ValueError:
        raise NotMeasured(f"no reference time in chronyc's tracking: {rows.get('Ref time (UTC)', '')!r:.60}") from None
    return min(abs(now - stamp) for now in now_seconds)


def chrony_offset_seconds(rows: Mapping[str, str]) -> float:
    """System time against NTP time, positive when fast.

    >>> chrony_offset_seconds({"System time": "0.000021 seconds slow of NTP time"})
    -2.1e-05
    """
    found = re.fullmatch(r"(\d+\.\d+) seconds (fast|slow) of NTP time", rows.get("System time", ""))
    if not found:
        raise NotMeasured(f"no system time in chronyc's tracking: {rows.get('System time', '')!r:.80}")
    return float(found[1]) * (1 if found[2] == "fast" else -1)
