"""Expectations that a profile may leave out: a check of what this hardware does not have is skipped, with the reason."""

from __future__ import annotations

from typing import TypeVar

import pytest

T = TypeVar("T")


def applicable(expectation: T | None, what: str) -> T:
    """The expectation; the running check is skipped when the profile has none.

    >>> applicable(8, "GPUs")
    8
    """
    if expectation is None:
        pytest.skip(f"does not apply: the profile of this node expects nothing of its {what}")
    return expectation
