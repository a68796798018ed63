"""How signals end a fleet run: the first in order, further ones while it ends are ignored. Runs on the controller."""

from __future__ import annotations

import signal
import threading
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """SIGTERM and a lost terminal end a run as Ctrl-C does. ``ending`` when it ends of itself, then ``restore``."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        if threading.current_thread() is not threading.main_thread():
            return
        for number in STOPPING:
            before = signal.getsignal(number)
            if before is not signal.SIG_IGN:  # nohup stays nohup
                self._before[number] = before
                signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, _frame: object) -> None:
        self.ending()
        raise KeyboardInterrupt(signal.Signals(number).name)

    def ending(self) -> None:
        """From here on everything has its own short deadline, and must not be cut short."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)

    def restore(self) -> None:
        """Leave signals as they were found."""
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before = {}
