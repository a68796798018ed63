"""A value that was not measured: it carries the reason and refuses every use, so nothing can pass on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn


class NotMeasured(Exception):
    """A check needed a value that no evidence holds; its outcome is error, never passed or failed.

    nodes: of a check of several, those that it is for the sake of; the others have no part in it.
    """

    def __init__(self, reason: str = "", nodes: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.nodes = tuple(nodes)


class Absent:
    """Stands where a measured value should be.

    Truth, comparison, length, iteration, arithmetic, membership and indexing raise NotMeasured with the reason, so that
    neither ``assert not value`` nor ``assert value == 0`` can pass. Only ``repr`` and ``str`` work, for messages.

    >>> bool(Absent("no answer"))
    Traceback (most recent call last):
    ...
    fleetcheck.absent.NotMeasured: no answer
    """

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __repr__(self) -> str:
        return f"<not measured: {self.reason}>"

    def _refuse(self, *_: object) -> NoReturn:
        raise NotMeasured(self.reason)

    __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = __hash__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __divmod__ = __rdivmod__ = _refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __lshift__ = __rlshift__ = _refuse
    __rshift__ = __rrshift__ = __neg__ = __pos__ = __abs__ = __invert__ = __round__ = _refuse
    __int__ = __float__ = __index__ = __complex__ = __format__ = __call__ = _refuse
