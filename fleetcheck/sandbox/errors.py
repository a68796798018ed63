"""What a sandbox refuses to start with. Controller side."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SandboxError(Exception):
    """A description that cannot be simulated, or a missing prerequisite; the text says what would do."""


def unknown(what: str, word: object, valid: Iterable[str]) -> SandboxError:
    """The error for a word that is none of the valid ones, with the closest of them.

    >>> str(unknown("return code", "GPU_LOST", ["GPU_IS_LOST", "TIMEOUT"]))
    "unknown return code 'GPU_LOST'; did you mean GPU_IS_LOST?"
    """
    names = list(valid)
    close = difflib.get_close_matches(str(word), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else f"expected one of {', '.join(names[:12]) or 'none'}"
    return SandboxError(f"unknown {what} {str(word)!r}; {hint}")
