"""Views of one GPU's NVLinks, fabric and peers. Runs on the controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleetcheck.absent import Absent
from fleetcheck.bound import Bound
from fleetcheck.facts.section import Section
from fleetcheck.recording import Concern
from fleetcheck.view import Reading

ACTIVE, ASLEEP = 1, 2
NOT_STARTED, IN_PROGRESS, COMPLETED = 1, 2, 3
ERROR_KINDS = ("replay", "recovery", "crc_flit", "crc_data")
HEALTH_FLAGS = {"degraded bandwidth": 0, "route recovery": 2, "route unhealthy": 4, "access timeout recovery": 6}
"""Two-bit fields of the fabric health mask and their shift: 0 not supported, 1 true, 2 false (nvml.h)."""
CONFIGURATION_SHIFT = 8
CONFIGURATIONS = {2: "wrong system GUID", 3: "wrong chassis serial", 4: "no partition", 5: "too few NVLinks",
                  6: "incompatible GPU firmware", 7: "invalid location", 8: "invalid GPU state"}


class NvLink(Section):
    """The links of one GPU, as lists by link index."""

    def active(self, promised: Bound) -> Any:
        """How many links are up (asleep counts as up: it is a power state). Absent when links that were not measured could
        still make up the promised number."""
        states = self.get("state", list)
        if isinstance(states, Absent):
            return states
        known = [state for state in states if isinstance(state, int)]
        up = sum(state in (ACTIVE, ASLEEP) for state in known)
        unknown = max(0, int(promised.low or 0) - len(known))
        if unknown and up + unknown >= (promised.low or 0):
            return Absent(f"{self.label}: {unknown} of {promised} not measured: {_first_reason(states)}")
        return self.derived("active_links", up)

    @property
    def slowest_mbytes_per_second(self) -> Any:
        """Speed of the slowest link that is up and awake; Absent when one such link did not tell it."""
        states, speeds = self.get("state", list), self.get("speed_mbytes_per_second", list)
        for listed in (states, speeds):
            if isinstance(listed, Absent):
                return listed
        awake = [link for link, state in enumerate(states) if state == ACTIVE]
        return self._extreme("slowest", speeds, awake, min)

    def symbol_ber_exponent(self) -> Any:
        """The smallest exponent x of any link's symbol error rate m·10^-x: NVML packs m << 8 | x (NVML_NVLINK_BER_*)."""
        states, packed = self.get("state", list), self.get("symbol_ber_packed", list)
        for listed in (states, packed):
            if isinstance(listed, Absent):
                return listed
        awake = [link for link, state in enumerate(states) if state == ACTIVE]
        return self._extreme("worst_symbol_ber_exponent", [value & 0xFF if isinstance(value, int) else value for value in packed], awake, min)

    def codes(self, key: str) -> str:
        """How the reading of a list ended: SUCCESS if any link told a value."""
        values = self.get(key, list)
        if isinstance(values, Absent):
            return values  # type: ignore[return-value]  # refuses every use, as a reading does
        if any(isinstance(value, int) for value in values):
            return "SUCCESS"
        return self.derived(key, _first_reason(values))

    def _extreme(self, name: str, values: list[Any], links: list[int], choose: Any) -> Any:
        if not links:
            return Absent(f"{self.label}: no NVLink is up")
        if links[-1] >= len(values):
            return Absent(f"{self.label}: {self.where}.{name} of link {links[-1]} is missing from the answer")
        known = {link: values[link] for link in links if isinstance(values[link], int)}
        if len(known) < len(links):
            return Absent(f"{self.label}: {self.where}.{name}: {_first_reason([values[link] for link in links])}")
        link = choose(known, key=known.__getitem__)
        return self.derived(f"link_{link}_{name}", known[link])


class Growth(Section):
    """Counters read twice, with the seconds between; what grows is judged, what stands is history."""

    seconds = Reading(float)

    @property
    def corrected_per_second(self) -> Any:
        """Corrected memory errors a second."""
        return self._rate("corrected", self.get("corrected", list), self.seconds)

    @property
    def pcie_replays_per_minute(self) -> Any:
        """PCIe replays a minute. One replay alone within the second is no rate: it counts as none."""
        rate = self._rate("pcie_replays", self.get("pcie_replays", list), self.seconds, ignored=1)
        return rate if isinstance(rate, Absent) else self.derived("pcie_replays_per_minute", round(rate * 60, 1))

    @property
    def nvlink_errors_per_second(self) -> Any:
        """The fastest growing error counter of any link."""
        kinds = self.get("nvlink", dict)
        if isinstance(kinds, Absent):
            return kinds
        rates: dict[str, Any] = {}
        for kind, first, last in _told(kinds):
            if isinstance(first, Absent):
                return first
            if len(first) != len(last):
                return Absent(f"{self.label}: NVLink {kind} told of {len(first)} links, then of {len(last)}")
            rates.update((f"link_{link}_{kind}", self._rate(kind, list(pair), self.seconds)) for link, pair in enumerate(zip(first, last, strict=True)))
        return self._fastest(rates)

    def nvlink_code(self) -> str:
        """SUCCESS when any kind of NVLink error is counted; else why none is."""
        kinds = self.get("nvlink", dict)
        if isinstance(kinds, Absent):
            return kinds  # type: ignore[return-value]  # refuses every use, as a reading does
        return "SUCCESS" if any(True for _ in _told(kinds)) else self.derived("nvlink", "NOT_SUPPORTED")

    def _fastest(self, rates: Mapping[str, Any]) -> Any:
        absent = next((rate for rate in rates.values() if isinstance(rate, Absent)), None)
        if absent is not None or not rates:
            return absent or Absent(f"{self.label}: no NVLink error counter was told")
        name = max(rates, key=rates.__getitem__)
        return self.derived(f"{name}_per_second", rates[name])

    def _rate(self, name: str, pair: Any, seconds: Any, ignored: int = 0) -> Any:
        if isinstance(pair, Absent):
            return pair
        if isinstance(seconds, Absent):
            return seconds
        first, last = (_whole(value) for value in pair) if len(pair) == 2 else (None, None)
        if first is None or last is None:
            return Absent(f"{self.label}: {self.where}.{name}: {_first_reason(pair)}")
        if last < first or seconds < 0.5:
            return Absent(f"{self.label}: {self.where}.{name} went from {first} to {last} in {seconds:g} s: restarted between the samples")
        growth = last - first
        return self.derived(f"{name}_per_second", round((growth if growth > ignored else 0) / seconds, 1))


class Fabric(Section):
    """The NVSwitch fabric as this GPU sees it. status is an NVML return code and means something once state is completed."""

    state = Reading(int)
    status = Reading(int)
    clique = Reading(int)
    uuid = Reading(str)
    health_mask = Reading(int)

    def unready(self, still_booting: Any) -> Concern | bool:
        """What keeps this GPU out of the fabric."""
        state = self.state
        if state == COMPLETED:
            status = self.status
            return status != 0 and Concern(f"fabric registration ended with NVML code {status}", action="reset-gpu")
        if state == IN_PROGRESS and still_booting:
            return Absent(f"{self.label}: the fabric is still training after boot; ask again")  # type: ignore[return-value]
        return Concern(f"fabric state {state} (1 not started, 2 in progress), not completed: see nvidia-fabricmanager")

    def ill(self) -> Concern | bool:
        """Which fields of the health mask say true, or name a wrong configuration."""
        mask = self.health_mask
        wrong = [name for name, shift in HEALTH_FLAGS.items() if mask >> shift & 3 == 1]
        configuration = mask >> CONFIGURATION_SHIFT & 15
        if configuration > 1:
            wrong.append(CONFIGURATIONS.get(configuration, f"configuration {configuration}"))
        return bool(wrong) and Concern(f"fabric health mask {mask:#x}: {', '.join(wrong)}")


class Peers(Section):
    """Peer read status towards every other GPU by its index; 0 works."""

    def broken(self, others: list[int]) -> list[str]:
        """The GPUs this one cannot read from, each with its status."""
        statuses = {other: self.get(str(other), int) for other in others}
        return [f"GPU {other} (status {status})" for other, status in statuses.items() if status != 0]


def _told(kinds: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Kinds of error that this hardware counts, with first and last values by link."""
    for kind in ERROR_KINDS:
        pair = kinds.get(kind)
        if not isinstance(pair, list) or len(pair) != 2:
            yield kind, Absent(f"NVLink {kind} was not read twice"), None
        elif any(isinstance(value, int) for value in (*pair[0], *pair[1])):
            yield kind, *pair


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _first_reason(values: list[Any]) -> str:
    reasons = [str(value["absent"]) for value in values if isinstance(value, Mapping) and "absent" in value]
    return reasons[0] if reasons else "missing from the answer"
