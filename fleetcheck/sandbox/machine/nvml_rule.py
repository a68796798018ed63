"""How rules of the simulated NVML are written here."""

from __future__ import annotations

from typing import Any

from fleetcheck.sandbox.nvml_rules import NvmlRule
from fleetcheck.sandbox.nvml_surface import FIELD_VALUES


def rule(call: str, value: Any = None, gpu: int | None = None, ret: str | None = None, **args: int | str) -> NvmlRule:
    """A rule in the order that reads best here."""
    return NvmlRule(call, gpu, args, value, ret)


def field(number: int, value: Any, gpu: int | None = None, scope: int | None = None) -> NvmlRule:
    """The value of one field, of one link where a scope is given."""
    args = {"field": number} if scope is None else {"field": number, "scope": scope}
    return NvmlRule(FIELD_VALUES, gpu, args, value)


def no_field(number: int) -> NvmlRule:
    """A field this part does not have."""
    return NvmlRule(FIELD_VALUES, None, {"field": number}, None, "NOT_SUPPORTED")
