"""Views of one GPU's NVLinks. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.bound import Bound
from fleetcheck.facts.section import UNSUPPORTED, Section

ACTIVE, ASLEEP = 1, 2
"""NVML_NVLINK_STATE_*; 0 is down."""


class NvLink(Section):
    """The links of one GPU, as lists by link index."""

    def active(self, promised: Bound) -> Any:
        """How many of the promised links are up; asleep is up, a power state. Links beyond the promised do not count.

        Absent when links that were not measured could still make up the promised number.
        """
        states = self._states()
        if isinstance(states, Absent):
            return states
        known = [state for state in states if isinstance(state, int)]
        up, low = sum(state in (ACTIVE, ASLEEP) for state in known), int(promised.low or 0)
        unknown = max(0, low - len(known))
        if unknown and up + unknown >= low:
            return Absent(f"{self.label}: {unknown} of {promised} not measured: {first_reason(states)}")
        return self.derived("active_links", min(up, int(promised.high or up)))

    def slowest_mbytes_per_second(self, promised: Bound) -> Any:
        """Speed of the slowest link that is up (asleep: if it tells one); Absent when one such link did not tell it."""
        return self._lowest("mbytes_per_second", self.get("speed_mbytes_per_second", list), promised)

    def symbol_ber_exponent(self, promised: Bound) -> Any:
        """The smallest exponent x of any link's error rate m·10^-x, symbol or effective; NVML packs m << 8 | x."""
        symbol = self._lowest("symbol_ber_exponent", exponents(self.get("symbol_ber_packed", list)), promised)
        if self.code_of("effective_ber_packed") in UNSUPPORTED:
            return symbol
        effective = self._lowest("effective_ber_exponent", exponents(self.get("effective_ber_packed", list)), promised)
        if isinstance(symbol, Absent) or isinstance(effective, Absent):
            return symbol if isinstance(symbol, Absent) else effective
        return symbol if symbol <= effective else effective

    def code_of(self, key: str) -> Any:
        """How the reading of a list ended: SUCCESS if any link told a value."""
        values = self.get(key, list)
        if isinstance(values, Absent):
            return values
        told = any(isinstance(value, int) for value in values)
        return self.derived(key, "SUCCESS" if told else first_reason(values))

    def _states(self) -> Any:
        """State by link, down when either way of asking says so; an element that is no number was not measured."""
        states, fields = self.get("state", list), self.get("state_field", list)
        for listed in (states, fields):
            if isinstance(listed, Absent):
                return listed
        while len(states) > 1 and silent(states[-1]):
            states = states[:-1]
        padded = [*fields, *[None] * (len(states) - len(fields))]
        return [merged(state, field) for state, field in zip(states, padded, strict=False)]

    def _lowest(self, name: str, values: Any, promised: Bound) -> Any:
        states = self._states()
        for listed in (states, values):
            if isinstance(listed, Absent):
                return listed
        if len(states) != len(values) or not all(isinstance(state, int) for state in states):
            return Absent(f"{self.label}: NVLink {name} of {len(values)} in {len(states)} links: {first_reason(states)}")
        up = [link for link, state in enumerate(states) if state == ACTIVE or (state == ASLEEP and values[link])]
        links = up[: int(promised.high or len(up))]  # some boards wire 12 of 18, and not the first 12
        if not links:
            return Absent(f"{self.label}: no NVLink is up")
        asked = [values[link] for link in links]
        if not all(isinstance(value, int) for value in asked):
            return Absent(f"{self.label}: NVLink {name}: {first_reason(asked)}")
        link = min(links, key=values.__getitem__)
        return self.derived(f"link_{link}_{name}", values[link])


def merged(state: Any, field: Any) -> Any:
    """One link's state from NVML's call and its field; the call decides where the field is not supported."""
    if 0 in (state, field):
        return 0
    return state if silent(field) or isinstance(field, int) or not isinstance(state, int) else field


def silent(value: Any) -> bool:
    """Whether an element says that there is nothing to be had."""
    return isinstance(value, Mapping) and value.get("absent") in UNSUPPORTED


def exponents(packed: Any) -> Any:
    """The exponents of packed error rates (NVML_NVLINK_BER_EXP_*); reasons stay."""
    if isinstance(packed, Absent):
        return packed
    return [value & 0xFF if isinstance(value, int) else value for value in packed]


def first_reason(values: Sequence[Any]) -> str:
    """Why the first unmeasured element of a list is."""
    reasons = [str(value["absent"]) for value in values if isinstance(value, Mapping) and "absent" in value]
    return reasons[0] if reasons else "missing from the answer"
