"""Having all nodes of a campaign to oneself, each as the inventory says, until it ends. Runs on the controller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from fleetcheck.burnin import claims
from fleetcheck.burnin.holding import Holding
from fleetcheck.inventory import Node
from fleetcheck.quoting import escaped
from fleetcheck.records import Failure

GRANT_SECONDS, LOOK_SECONDS, HELD_SECONDS = 120.0, 5.0, 30.0
AT_ONCE = 16


class Hold:
    """``take`` nodes, then ``release``. held: by node, what to release its claim by."""

    def __init__(self, run: str, held: Mapping[str, str] | None = None, ask: claims.Run = claims.run,
                 sleep: Callable[[float], object] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._ending = threading.Event()
        self.run, self.ask, self.sleep, self.clock = run, ask, sleep or self._ending.wait, clock
        self.held: dict[str, str] = dict(held or {})
        self._holding = Holding(ask, clock, HELD_SECONDS)

    def take(self, nodes: Sequence[Node], seconds: float) -> dict[str, Failure]:
        """Claim them all; of those that cannot be had, why."""
        if not nodes:
            return {}
        with ThreadPoolExecutor(min(AT_ONCE, len(nodes)), thread_name_prefix="claim") as pool:
            try:
                refused = dict(zip((node.name for node in nodes), pool.map(lambda node: self._one(node, seconds), nodes), strict=True))
            except BaseException:
                self._ending.set()
                raise
        return {name: failure for name, failure in refused.items() if failure}

    def _one(self, node: Node, seconds: float) -> Failure | None:
        try:
            if self._ending.is_set():
                raise claims.Busy("the run was ended")
            held = claims.take(node.claim or "", node.name, self.run, seconds, self.ask)
            if held:
                self.held[node.name] = held
                self._granted(node.name, held)
        except claims.Busy as busy:
            self._give_back(node.name)
            return Failure("deferred", escaped(f"{node.name}: deferred: {busy}"))
        except claims.ClaimError as error:
            self._give_back(node.name)
            return Failure("controller", escaped(f"{node.name}: not tried with others: claim {node.claim}: {error}"))
        return None

    def _granted(self, node: str, held: str) -> None:
        """Wait until it is ours. Raises Busy or ClaimError."""
        until = self.clock() + GRANT_SECONDS
        while not claims.granted(held, self.ask):
            if self.clock() >= until or self._ending.is_set():
                raise claims.denied(node, held, self.run, self.ask)
            self.sleep(LOOK_SECONDS)

    def _give_back(self, node: str) -> str:
        held = self.held.pop(node, "")
        try:
            claims.release(held, self.ask)
        except claims.ClaimError as error:
            return f"{held} of {node} was not released: {error}"
        return ""

    def lost(self) -> dict[str, str]:
        """Nodes that are somebody else's by now, each with why."""
        return {node: why for node, held in self.held.items() if (why := self._holding.lost(held, node, self.run))}

    def release(self) -> list[str]:
        """Give all of them back; what could not be, in words."""
        return [said for node in list(self.held) if (said := self._give_back(node))]
