"""By which clock a load ends: ``--duration 4h``, ``--until 06:00``, and a node's share of that time. Pure."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

UNITS: Mapping[str, int] = {"s": 1, "min": 60, "m": 60, "h": 3600, "d": 86400}
LONGEST_SECONDS = 31 * 86400
MARGIN_SECONDS = 60.0
"""Kept free before ``--until`` in each wave, for starting, stopping and fetching."""
_PART = re.compile(r"(\d+(?:\.\d+)?)(min|[smhd])")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\Z")


def duration(text: str) -> float:
    """Seconds of a duration as people type it. Raises ValueError.

    >>> duration("4h"), duration("1h30m"), duration("45s")
    (14400.0, 5400.0, 45.0)
    """
    words = text.replace(" ", "")
    parts = _PART.findall(words)
    seconds = sum(float(number) * UNITS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != words or not 0 < seconds <= LONGEST_SECONDS:
        raise ValueError(f"{text!r:.40} is no duration; expected one such as 4h, 90min or 1h30m, at most 31d")
    return float(seconds)


def until(text: str, now: datetime.datetime) -> datetime.datetime:
    """The next moment at which it is so late here, or a date and time as they are; with its offset. now: local, without one.

    Raises ValueError.

    >>> until("06:00", datetime.datetime(2026, 11, 30, 22, 0)).isoformat()[:16]
    '2026-12-01T06:00'
    """
    time = _TIME.match(text.strip())
    if not time:
        return _moment(text)
    wall = now.replace(hour=int(time[1]), minute=int(time[2]), second=0, microsecond=0)
    return (wall if wall > now else wall + datetime.timedelta(days=1)).astimezone()


def checked_until(text: str) -> str:
    """The text itself, once it is known to be a time. Raises ValueError."""
    until(text, datetime.datetime.now())
    return text


def count(text: str) -> int:
    """A number of nodes. Raises ValueError."""
    if not text.isdecimal() or not 0 < int(text) < 1_000_000:
        raise ValueError(f"{text!r:.40} is no number of nodes; expected one such as 32")
    return int(text)


def _moment(text: str) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(text.strip()).astimezone()
    except ValueError:
        raise ValueError(f"{text!r:.40} is no time of day; expected one such as 06:00, in local time") from None


def share(asked: float, left: float | None, waves: int) -> float:
    """Seconds each node is loaded when that many waves follow each other. left: seconds until the end, None without one.

    >>> share(14400, 7200, 2)
    3540.0
    """
    return asked if left is None else max(0.0, min(asked, left / max(1, waves) - MARGIN_SECONDS))


def words(seconds: float) -> str:
    """A duration for people.

    >>> words(14400), words(5430), words(45)
    ('4 h', '1 h 30 min', '45 s')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join(part for part in (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "") if part)
