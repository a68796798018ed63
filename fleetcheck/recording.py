"""What a running check read and compared: the measured values, limits and offenders behind its result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """A replaceable piece of a node. kind: gpu, nic, nvme, dimm, psu, chassis…; slot: where it sits (PCI bus id, slot name)."""

    kind: str
    label: str
    slot: str = ""
    serial: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """One value taken from evidence: name such as ``gpu.ecc.volatile_uncorrected``, unit in the name."""

    name: str
    value: Any
    part: Part | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """One ``value in bound``; read is what supplied the value, if it came from evidence."""

    value: Any
    bound: Any
    within: bool
    read: Read | None


@dataclass(frozen=True, slots=True)
class Concern:
    """Why a part offends, when the reason decides severity or action (an Xid's class, a pending recovery action).

    A predicate given to ``Parts.offending`` may return one instead of True; empty severity or action means the check's own.
    cause: what it is a case of, where one check stands for several (the code of a kernel event).
    """

    text: str
    severity: str = ""
    action: str = ""
    cause: str = ""


@dataclass(frozen=True, slots=True)
class Offender:
    """One part found at fault by a check. nodes: of a check of several, whom it is about, where none of them is blamed."""

    part: Part | None
    text: str
    severity: str = ""
    action: str = ""
    cause: str = ""
    nodes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True)
class Recording:
    """Everything one item read and compared, in order."""

    reads: list[Read] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)
    offenders: list[Offender] = field(default_factory=list)
    coverage: list[str] = field(default_factory=list)

    def source_of(self, value: object) -> Read | None:
        """The latest read that supplied this very value."""
        for read in reversed(self.reads):
            if read.value is value:
                return read
        return None


_current: ContextVar[Recording | None] = ContextVar("recording", default=None)


def current() -> Recording | None:
    """The recording of the running check, or None outside a check."""
    return _current.get()


@contextmanager
def recorded(recording: Recording) -> Iterator[Recording]:
    """Record into this recording for the length of the block."""
    token = _current.set(recording)
    try:
        yield recording
    finally:
        _current.reset(token)
