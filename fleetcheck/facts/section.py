"""A part of a view whose readings may be codes, lists, or values computed from them. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from fleetcheck import recording
from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.recording import Read
from fleetcheck.view import View

T = TypeVar("T")

UNSUPPORTED = frozenset({
    "NOT_SUPPORTED", "FUNCTION_NOT_FOUND", "ARGUMENT_VERSION_MISMATCH", "DEPRECATED", "VGPU_ECC_NOT_SUPPORTED",
    "NO_DATA",
})
"""NVML codes that say a value is not there to be had: unknown, never a fault by itself."""
ENABLED: Mapping[int, str] = {0: "disabled", 1: "enabled"}
"""nvmlEnableState_t."""


class Section(View):
    """A View with the readings NVML and sysfs need."""

    __slots__ = ()

    def code(self, key: str) -> Any:
        """How the reading of a value ended: SUCCESS, or the reason it is absent; here the reason is the value."""
        if not isinstance(self.raw, Mapping) or key not in self.raw:
            return self.get(key, str)
        value = self.raw[key]
        if isinstance(value, Mapping) and set(value) == {"absent"}:
            return self.derived(key, str(value["absent"]))
        self.derived(key, value)
        return "SUCCESS"

    def has_no_file(self, key: str) -> bool:
        """Whether the kernel has no file for a value; raises NotMeasured when the answer lacks the value."""
        code = self.code(key)
        if isinstance(code, Absent):
            raise NotMeasured(code.reason)
        return str(code).startswith("no such file")

    def derived(self, name: str, value: T) -> T:
        """Note a value computed from readings under its own name, so that records and messages show it."""
        running = recording.current()
        if running is not None:
            running.reads.append(Read(f"{self.where}.{name}", value, self.part))
        return value

    def word(self, key: str, words: Mapping[int, str]) -> Any:
        """A number of an enumeration as its word; Absent for a number that has none."""
        number = self.get(key, int)
        if isinstance(number, Absent):
            return number
        if number not in words:
            return Absent(f"{self.label}: {self.where}.{key} is {number}, which NVML does not define")
        return self.derived(f"{key}_mode", words[number])

    def highest(self, key: str, second: str) -> Any:
        """A number that NVML tells in two ways: the higher one. Only the second way may be unsupported."""
        one, other = self.get(key, int), self.code(second)
        if other in UNSUPPORTED:
            return one
        other = self.get(second, int)
        known = [value for value in (one, other) if not isinstance(value, Absent)]
        if len(known) == 2 or any(known):
            return self.derived(key, max(known))
        return one if isinstance(one, Absent) else other

    def numbers(self, key: str, count: int = 0) -> Any:
        """A list of numbers; Absent when one is missing or there are fewer than count."""
        values = self.get(key, list)
        return values if isinstance(values, Absent) else numbers_of(values, f"{self.label}: {self.where}.{key}", count)

    def texts(self, key: str) -> list[str]:
        """A list of texts; raises NotMeasured when one is not told."""
        values = self.get(key, list)
        for value in [values] if isinstance(values, Absent) else values:
            if not isinstance(value, str):
                raise NotMeasured(getattr(value, "reason", f"{self.label}: {self.where}.{key} holds {value!r:.60}, not a text"))
        return list(values)


def numbers_of(values: object, name: str, count: int = 0) -> Any:
    """A list whose elements are all numbers, or Absent with the first reason found."""
    if not isinstance(values, list):
        return Absent(f"{name} is {values!r:.40}, not a list")
    for value in values:
        if isinstance(value, Mapping) and set(value) == {"absent"}:
            return Absent(f"{name}: {value['absent']}")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return Absent(f"{name} holds {value!r:.40}, not a number")
    return values if len(values) >= count else Absent(f"{name} has {len(values)} of {count} values")
