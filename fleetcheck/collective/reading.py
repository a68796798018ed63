"""What a program's output says: an outcome, whose matter it is, and a sentence. Runs on the controller; pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """outcome: passed, failed, error (not measured) or skipped; cause: whose matter it is, one word; message: for an operator."""

    outcome: str
    cause: str
    message: str
