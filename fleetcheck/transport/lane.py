"""A connection to one node, kept between probes that are asked one after the other. Runs on the controller."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

Close = Callable[[], object]


class Lane:
    """Empty, or a connection at rest with what closes it. Of one thread at a time; whatever it holds is closed at the end of the block."""

    def __init__(self) -> None:
        self._connection: Any = None
        self._closes: Sequence[Close] = ()

    def __enter__(self) -> Lane:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for close in reversed(self.take()[1]):
            with contextlib.suppress(Exception):
                close()

    def keep(self, connection: Any, closes: Sequence[Close]) -> None:
        """For the next probe. closes: in the order of opening."""
        self._connection, self._closes = connection, closes

    def take(self) -> tuple[Any, Sequence[Close]]:
        """The connection, None where there is none, and what closes it, now the taker's to call."""
        held = self._connection, self._closes
        self._connection, self._closes = None, ()
        return held
