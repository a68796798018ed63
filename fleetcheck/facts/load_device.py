"""One accelerator under one load: its rates, its drift, what it computed wrongly. Runs on the controller."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from statistics import median

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.facts.section import Section, numbers_of
from fleetcheck.recording import Concern
from fleetcheck.view import Nested, Parts, Reading

HIGHEST_RATE = 1e7
"""More TFLOP/s or GB/s than any device has: such a number is no measurement."""
NAMED = 3
"""How many mismatches a message quotes."""
TENTHS = 10


class Metrics(Section):
    """Rates of one device over the whole load, by metric."""

    def rate(self, name: str) -> float:
        """A rate; raises NotMeasured where it was not told or is no plausible number."""
        value = self.get(name, float)
        if isinstance(value, Absent):
            raise NotMeasured(value.reason)
        if not 0 <= value <= HIGHEST_RATE:
            raise NotMeasured(f"{self.label}: {name} is {value:g}, which no device reaches")
        return float(value)

    def named(self, prefix: str) -> list[str]:
        """The metrics whose names begin so: ``tflops_``."""
        return sorted(name for name in self.raw if str(name).startswith(prefix)) if isinstance(self.raw, Mapping) else []


class Device(Section):
    """One accelerator, or the processors, under one load. error: why it did not run to the end; empty when it did."""

    uuid = Reading(str)
    name = Reading(str)
    error = Reading(str)
    metrics = Nested(Metrics)
    tenths = Nested(Section)

    def rate(self, metric: str) -> float:
        """A metric's mean over the load; raises NotMeasured on a device that did not run to the end."""
        self.ended()
        return self.metrics.rate(metric)

    def least(self, metric: str) -> float:
        """A metric's mean over the worst pass of a load that ran several times: a mean over all would hide it."""
        mean = self.rate(metric)
        passes = self.raw.get("lowest") if isinstance(self.raw, Mapping) else None
        if passes is None:
            return mean
        worst = Metrics(passes, f"{self.where}.lowest", self.part).rate(metric)
        return worst if worst < mean else self.metrics.rate(metric)

    def unsupported(self, dtype: str) -> bool:
        """Whether the device's software says that it cannot compute in a dtype."""
        refused = self.raw.get("unsupported") if isinstance(self.raw, Mapping) else None
        return isinstance(refused, Mapping) and dtype in refused

    def ended(self) -> None:
        """Raises NotMeasured on a device whose load broke off: that is a finding of its own."""
        if self.error:
            raise NotMeasured(f"{self.label}: the load broke off: {self.error:.200}")

    def fraction_of_peers(self, metric: str, devices: Parts[Device]) -> float:
        """A metric as a fraction of the median of the node's other devices; those that did not end are left out."""
        own, others = self.rate(metric), []
        for other in devices.present:
            try:
                others += [other.rate(metric)] if other is not self else []
            except NotMeasured:
                continue
        usual = median(others) if others else 0.0
        if not usual:
            raise NotMeasured(f"{self.label}: no other device told its {metric}")
        self.derived(metric, own)
        return float(self.derived(f"{metric}_of_peers", round(own / usual, 4)))

    def drift(self, metric: str) -> float:
        """The last tenth of the load as a fraction of the first."""
        self.ended()
        values = self.tenths.numbers(metric, TENTHS)
        if isinstance(values, Absent):
            raise NotMeasured(values.reason)
        if len(values) != TENTHS or not all(math.isfinite(value) and 0 <= value <= HIGHEST_RATE for value in values) or not values[0]:
            raise NotMeasured(f"{self.label}: the tenths of {metric} are no ten rates: {values!r:.120}")
        return float(self.derived(f"{metric}_last_tenth_of_first", round(values[-1] / values[0], 4)))

    def wrong(self) -> Concern | bool:
        """What it computed or stored wrongly: how often, and where the first of them are. A fault found before a break still is one."""
        count = self.get("mismatch_count", int)
        listed = self.get("mismatches", list)
        if isinstance(count, Absent) or isinstance(listed, Absent):
            raise NotMeasured(count.reason if isinstance(count, Absent) else listed.reason)
        if count < 0:
            raise NotMeasured(f"{self.label}: {self.where}.mismatch_count is {count}")
        changes = self.raw.get("checksum_changes") if isinstance(self.raw, Mapping) else None
        listed = [*listed, *({**each, "where": f"{each.get('case')}, a later pass"} if isinstance(each, Mapping) else each
                             for each in (changes if isinstance(changes, list) else ()))]
        if not count and not listed:
            self.ended()
            return False
        places = "; ".join(place(each) for each in listed[:NAMED])
        return Concern(f"{max(count, len(listed))} wrong: {places or 'no place was kept'}")

    def checksums(self) -> dict[str, str]:
        """{case: checksum} of fixed-seed results; raises NotMeasured where there is none."""
        self.ended()
        sums = self.get("checksums", dict)
        if isinstance(sums, Absent):
            raise NotMeasured(sums.reason)
        odd = next((f"{case}: {value!r:.40}" for case, value in sums.items() if not isinstance(value, str) or not value), "")
        if odd or not sums:
            raise NotMeasured(f"{self.label}: {'no checksum at all' if not sums else 'no checksum: ' + odd}")
        return dict(sums)


def place(mismatch: object) -> str:
    """One mismatch for an operator.

    >>> place({"address": 4096, "expected": "aa", "got": "ab", "pattern": "walking ones"})
    'at 0x1000 ab instead of aa (walking ones)'
    """
    if not isinstance(mismatch, Mapping):
        return f"{mismatch!r:.60}"
    at = mismatch.get("address", mismatch.get("where", "?"))
    shown = f"{at:#x}" if isinstance(at, int) and not isinstance(at, bool) and at >= 0 else f"{at!s:.60}"
    pattern = f" ({mismatch['pattern']!s:.40})" if mismatch.get("pattern") else ""
    return f"at {shown} {mismatch.get('got')!s:.40} instead of {mismatch.get('expected')!s:.40}{pattern}"


def below(device: Device, floors: Mapping[str, Bound], prefix: str) -> Concern | bool:
    """Which of a device's rates are outside their limits. floors: by what follows the prefix in the metric's name."""
    slow, gaps = _sorted(((name, f"{prefix}{name}") for name in floors), lambda name, metric: _under(device, metric, floors[name]))
    return _verdict(slow, gaps, "")


def noted(devices: Parts[Device], metric: str) -> None:
    """Reads a rate for which no floor may be known, so that the fleet's nodes can be compared by it all the same."""
    for device in devices.present:
        with suppress(NotMeasured):
            device.rate(metric)


def supported(floors: Mapping[str, Bound], devices: Parts[Device]) -> Mapping[str, Bound]:
    """The floors of those dtypes in which some device could compute; an old torch has no fp8. Raises NotMeasured where none is left."""
    told = devices.present
    left = {dtype: bound for dtype, bound in floors.items() if not told or not all(device.unsupported(dtype) for device in told)}
    if not left:
        raise NotMeasured(f"no accelerator could compute in {', '.join(floors)}")
    return left


def _under(device: Device, metric: str, bound: Bound) -> str:
    rate = device.least(metric)
    return "" if rate in bound else f"{metric} {rate:.4g} (limit {bound})"


def behind_peers(device: Device, devices: Parts[Device], metrics: Sequence[str], bound: Bound) -> Concern | bool:
    """Which of a device's rates are outside a bound of fractions of its peers' median; skips the check where it has none."""
    if devices.expected == 1:
        pytest.skip("one accelerator has no peers")

    def behind(metric: str, _: str) -> str:
        fraction = device.fraction_of_peers(metric, devices)
        return "" if fraction in bound else f"{metric} {device.rate(metric):.4g}, {fraction:.0%} of the other accelerators' median"

    return _verdict(*_sorted(((metric, "") for metric in metrics), behind), f" (limit {bound})")


def drifting(device: Device, metrics: Sequence[str], bound: Bound) -> Concern | bool:
    """Which of a device's rates sank from the first tenth of the load to the last."""
    def sunk(metric: str, _: str) -> str:
        fraction = device.drift(metric)
        return "" if fraction in bound else f"{metric} sank to {fraction:.0%} of its first tenth"

    return _verdict(*_sorted(((metric, "") for metric in metrics), sunk), f" (limit {bound})")


def undisturbed(device: Device, found: Concern | bool, share: Bound) -> Concern | bool:
    """A finding about the speed of processors, as long as the load had them to itself: NotMeasured where others used them meanwhile."""
    if not found:
        return False
    values = device.tenths.numbers("processor_share", TENTHS)
    if isinstance(values, Absent) or not values:
        raise NotMeasured(f"{device.label}: the load told no share of the processors' time, so nobody knows if others used them")
    least = float(min(values))
    if not least >= (share.low or 0.0):  # not by "in": the result's limit is that of the speed
        raise NotMeasured(f"{device.label}: others used the processors: it had {least:.0%} of their time at times (limit {share})")
    return found


def _sorted(asked: Iterable[tuple[str, str]], find: Callable[[str, str], str]) -> tuple[list[str], list[str]]:
    """What was found of each metric asked for, and why others could not be judged."""
    found, gaps = [], []
    for each in asked:
        try:
            found.append(find(*each))
        except NotMeasured as gap:
            gaps.append(str(gap))
    return [words for words in found if words], gaps


def _verdict(found: Sequence[str], gaps: Sequence[str], limit: str) -> Concern | bool:
    """A measured fault is never hidden by a metric that was not; nothing found with gaps is not measured."""
    if not found and gaps:
        raise NotMeasured("; ".join(gaps[:3]))
    return bool(found) and Concern("; ".join(found) + limit)


def numbers(value: object, name: str, count: int) -> list[float]:
    """A list of exactly so many finite numbers; raises NotMeasured."""
    found = numbers_of(value, name, count)
    if isinstance(found, Absent):
        raise NotMeasured(found.reason)
    if len(found) != count or not all(math.isfinite(each) for each in found):
        raise NotMeasured(f"{name} is {value!r:.60}, not {count} numbers")
    return [float(each) for each in found]
