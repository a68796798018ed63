"""View of one GPU's counters, read twice: what grows is judged, what stands is history. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.gpu_link import first_reason, silent
from fleetcheck.facts.section import Section
from fleetcheck.recording import Concern
from fleetcheck.view import Reading

SINGLE = 1.0
"""Errors a second; counters are read somewhat more than a second apart."""
ERROR_KINDS = ("replay", "recovery", "crc_flit", "crc_data")
SHORTEST_SECONDS = 0.5


class Growth(Section):
    """Counters read twice, with the seconds between; reading a rate raises NotMeasured where a counter was not told."""

    seconds = Reading(float)

    @property
    def corrected_per_second(self) -> float:
        """Corrected memory errors a second."""
        return self.derived("corrected_per_second", self._per_second(self.grown("corrected")))

    @property
    def pcie_replays_per_minute(self) -> float:
        """PCIe replays a minute. One replay alone within the second is no rate: it counts as none."""
        grown = self.grown("pcie_replays")
        if not self._silent("pcie_replays_field"):
            grown = max(grown, self.grown("pcie_replays_field"))
        return self.derived("pcie_replays_per_minute", self._per_second(grown * 60 if grown > 1 else 0))

    @property
    def nvlink_errors_per_second(self) -> float:
        """The fastest growing error counter of any link."""
        grown: dict[str, int] = {}
        for kind, (first, last) in self._counted().items():
            if len(first) != len(last):
                raise NotMeasured(f"{self.label}: NVLink {kind} told of {len(first)} links, then of {len(last)}")
            for link, pair in enumerate(zip(first, last, strict=True)):
                grown[f"link_{link}_{kind}"] = growth(pair, f"{self.label}: NVLink {link} {kind}")
        if not grown:
            raise NotMeasured(f"{self.label}: no NVLink error counter was told")
        fastest = max(grown, key=grown.__getitem__)
        return self.derived(f"{fastest}_per_second", self._per_second(grown[fastest]))

    def nvlink_trouble(self, allowed: Bound) -> Concern | bool:
        """Whether errors grow faster than allowed; slower growth is a warning, but for a single error, as a busy link may see one."""
        rate = self.nvlink_errors_per_second
        if rate not in allowed:
            return True
        return rate > SINGLE and Concern(f"NVLink errors grow by {rate:g} a second", "warn", "observe")

    def nvlink_code(self) -> str:
        """SUCCESS when any kind of NVLink error is counted; else why none is."""
        return self.derived("nvlink", "SUCCESS" if self._counted() else "NOT_SUPPORTED")

    def grown(self, key: str) -> int:
        """By how much a counter grew between its two readings."""
        return growth(self.get(key, list), f"{self.label}: {self.where}.{key}")

    def _counted(self) -> Mapping[str, Sequence[Any]]:
        """The kinds of NVLink error that this hardware counts: first and last values by link."""
        kinds = self.get("nvlink", dict)
        if isinstance(kinds, Absent):
            raise NotMeasured(kinds.reason)
        pairs = {kind: kinds.get(kind) for kind in ERROR_KINDS}
        for kind, pair in pairs.items():
            if not isinstance(pair, list) or len(pair) != 2 or not all(isinstance(values, list) for values in pair):
                raise NotMeasured(f"{self.label}: NVLink {kind} was not read twice")
        return {kind: pair for kind, pair in pairs.items() if pair and not all(map(silent, [*pair[0], *pair[1]]))}

    def _silent(self, key: str) -> bool:
        values = self.get(key, list)
        return not isinstance(values, Absent) and bool(values) and all(silent(value) for value in values)

    def _per_second(self, grown: float) -> float:
        seconds = self.seconds
        if seconds < SHORTEST_SECONDS:
            raise NotMeasured(f"{self.label}: two readings within {seconds:g} s tell no rate")
        return round(grown / seconds, 1)


def growth(pair: Any, name: str) -> int:
    """The difference of two readings; raises NotMeasured when one is missing or the counter started anew."""
    values = pair if isinstance(pair, (list, tuple)) else []
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if len(values) != 2 or len(numbers) != 2:
        raise NotMeasured(pair.reason if isinstance(pair, Absent) else f"{name}: {first_reason(values)}")
    if numbers[1] < numbers[0]:
        raise NotMeasured(f"{name} went from {numbers[0]} to {numbers[1]}: it started anew between the readings")
    return numbers[1] - numbers[0]
