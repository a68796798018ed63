"""The versions a profile allows today, as Choices a check compares with. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import pytest

from fleetcheck.bound import Choice
from fleetcheck.profile import Bundle, Profile


def allowed(profile: Profile, word: str, driver: str | None = None, today: datetime.date | None = None) -> Choice:
    """The values of one word (driver, vbios, …) in the bundles that hold today; with driver, in those of that driver.

    Versions belong together: a driver of no bundle is one finding, and its firmware no second one. Skips the check there,
    and where no bundle names the word.
    """
    current = [bundle for bundle in profile.bundles if bundle.current(today or datetime.date.today())]
    if driver is not None:
        current = [bundle for bundle in current if bundle.driver == driver]
        if not current:
            pytest.skip(f"driver {driver} is of no bundle that holds today, so no {word.replace('_', ' ')} belongs to it")
    naming = [bundle for bundle in current if getattr(bundle, word)]
    if not naming:
        pytest.skip(f"profile {profile.name} names no {word.replace('_', ' ')}")
    values = dict.fromkeys(value for bundle in naming for value in _values(bundle, word))
    sources = "; ".join(f"bundle {bundle.name}: {bundle.source}" for bundle in naming)
    return Choice(allowed=tuple(values), source=sources, date=naming[0].date)


def released_drivers(profile: Profile, today: datetime.date | None = None) -> tuple[str, ...]:
    """The drivers of the bundles that hold today; none where no bundle names one."""
    return tuple(bundle.driver for bundle in profile.bundles if bundle.current(today or datetime.date.today()))


def _values(bundle: Bundle, word: str) -> Sequence[str]:
    value = getattr(bundle, word)
    return (value,) if isinstance(value, str) else tuple(value)
