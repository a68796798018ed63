"""What is expected of a measured value: a Bound for numbers, a Choice for names; each with its source and date."""

from __future__ import annotations

import datetime
import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from fleetcheck import recording
from fleetcheck.absent import Absent, NotMeasured


def _date(value: object) -> object:
    try:
        return datetime.date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError(f"{value!r:.40} is no date; expected one such as 2026-11-30") from None


Date = Annotated[datetime.date, BeforeValidator(_date)]


class Expectation(BaseModel):
    """Common to Bound and Choice: who says so, and since when."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    source: str
    date: Date

    def _noted(self, value: Any, within: bool) -> bool:
        running = recording.current()
        if running is not None:
            running.comparisons.append(recording.Comparison(value, self, within, running.source_of(value)))
        return within


class Bound(Expectation):
    """A closed interval [low, high] in ``unit``; an end left out is open. ``equals: x`` in YAML sets both ends.

    >>> 7 in Bound(low=8, high=8, unit="GPUs", source="HGX H100 datasheet", date="2026-11-30")
    False
    """

    low: float | None = None
    high: float | None = None
    unit: str

    @model_validator(mode="before")
    @classmethod
    def _spread_equals(cls, value: object) -> object:
        if isinstance(value, dict) and "equals" in value:
            if "low" in value or "high" in value:
                raise ValueError("give either equals or low/high, not both")
            value = {**value, "low": value["equals"], "high": value["equals"]}
            del value["equals"]
        return value

    @model_validator(mode="after")
    def _ordered(self) -> Bound:
        if self.low is None and self.high is None:
            raise ValueError("a bound needs low, high or equals")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low {self.low:g} is above high {self.high:g}")
        return self

    def __contains__(self, value: object) -> bool:
        """``value in expectation``; recorded on the running check, NotMeasured where there is no value to judge."""
        if isinstance(value, Absent):
            raise NotMeasured(value.reason)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):
            raise NotMeasured(f"{value!r} is not a number of {self.unit}")
        above = self.low is None or value >= self.low
        return self._noted(value, above and (self.high is None or value <= self.high))

    def __str__(self) -> str:
        """As messages show it: ``≥ 10 %``."""
        if self.low == self.high:
            return f"{self.low:g} {self.unit}".rstrip()
        parts = [f"≥ {self.low:g}" if self.low is not None else "", f"≤ {self.high:g}" if self.high is not None else ""]
        return f"{' and '.join(part for part in parts if part)} {self.unit}".rstrip()


class Choice(Expectation):
    """One of several allowed words (a compute mode, a driver version, a governor).

    >>> "performance" in Choice(allowed=["performance"], source="site", date="2026-11-30")
    True
    """

    allowed: tuple[str, ...]

    @property
    def unit(self) -> str:
        """Words have no unit."""
        return ""

    def __contains__(self, value: object) -> bool:
        """``value in expectation``; recorded on the running check, NotMeasured where there is no value to judge."""
        if isinstance(value, Absent):
            raise NotMeasured(value.reason)
        if not isinstance(value, str):
            raise NotMeasured(f"{value!r} is not a name")
        return self._noted(value, value in self.allowed)

    def __str__(self) -> str:
        """As messages show it: ``default or exclusive``."""
        return " or ".join(self.allowed) or "nothing"
