"""Parts that a node answers by name, ``{name: {…}}``: services, exporters, ports to reach. Runs on the controller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.recording import Part
from fleetcheck.view import Parts, Reading, View

V = TypeVar("V", bound=View)
T = TypeVar("T")


class Setting(View):
    """One named value of text."""

    __slots__ = ()
    value = Reading(str)


def named(kind: type[V], data: object, key: str, name: str, what: str) -> V:
    """The part of that name below a key of an answer; its values are Absent when it was not told."""
    table = data.get(key) if isinstance(data, Mapping) else data
    raw = table.get(name) if isinstance(table, Mapping) and "absent" not in table else table
    return kind(raw, what, Part(what, f"{what} {name}", name))


def those(views: Iterable[V], wanted: Callable[[V], object], what: str, none: str) -> Parts[V]:
    """The parts that are wanted; one that cannot be decided is a gap. Skips the check, saying ``none``, where there is none."""
    chosen, gaps = [], []
    for view in views:
        try:
            chosen += [view] if wanted(view) else []
        except NotMeasured as gap:
            gaps.append(str(gap))
    if not chosen and not gaps:
        pytest.skip(none)
    return Parts(chosen, what, unreadable=gaps)


def listed(view: View, key: str, kind: type[T]) -> list[T]:
    """A list under a key, every element of that kind; NotMeasured when one is not or the list was not told."""
    values = view.get(key, list)
    if isinstance(values, Absent):
        raise NotMeasured(values.reason)
    odd = [value for value in values if isinstance(value, bool) or not isinstance(value, kind)]
    if odd:
        raise NotMeasured(f"{view.label}: {view.where}.{key} holds {odd[0]!r:.60}, not {kind.__name__}")
    return list(values)


def settings(data: object, key: str, names: Iterable[str], what: str) -> dict[str, Setting]:
    """Named texts, ``{name: text}``, as a view each."""
    table: Any = data.get(key) if isinstance(data, Mapping) else data
    told = table if isinstance(table, Mapping) and "absent" not in table else None
    return {name: Setting({"value": told.get(name, {"absent": f"no {name}"})} if told is not None else table or Absent(f"no {key}"),
                          f"{key}.{name}", Part(what, f"{what} {name}", name)) for name in names}
