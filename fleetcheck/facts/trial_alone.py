"""What all-reduce within one node says of its NVLinks and NVSwitches: as jobs have it, and NVLink SHARP off. Runs on the controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fleetcheck.absent import NotMeasured
from fleetcheck.bound import Bound
from fleetcheck.collective import talk
from fleetcheck.collective.campaign.launch import NVLS
from fleetcheck.collective.campaign.limits import op, size_of, what
from fleetcheck.collective.campaign.terms import nvlink_sharp
from fleetcheck.collective.slow import Limit, bound
from fleetcheck.collective.trial import ALONE, WITHOUT_NVLS, Trial
from fleetcheck.collective.way import way
from fleetcheck.facts.load_limits import limit
from fleetcheck.facts.section import Section
from fleetcheck.groups import blamed
from fleetcheck.inventory import Node
from fleetcheck.recording import Offender, Part

if TYPE_CHECKING:
    from fleetcheck.facts.interconnect import Kind

COLLECTIVE = "all_reduce"
SAID = {ALONE: "within the node", WITHOUT_NVLS: "within the node, NVLink SHARP off"}


class Alone(Section):
    """One node by itself."""

    __slots__ = ("kind", "node")

    def __init__(self, node: Node, kind: Kind) -> None:
        super().__init__({}, "alone", Part("node", node.name))
        self.node = node
        self.kind = kind
        if not nvlink_sharp(kind.profile):
            pytest.skip(f"profile {kind.profile.name} promises no NVSwitches that reduce (NVLink SHARP: Hopper and later)")
        if kind.simulated_devices:
            pytest.skip("processors stand in for the accelerators: they have no NVLinks")

    def slow_without(self) -> list[Offender]:
        """Whether all-reduce over the links themselves fails or is slow."""
        trial = self._run(WITHOUT_NVLS)
        return blamed(self._failed(trial) or self._slow(trial, "node_busbw_without_nvls_gbytes_per_second", required=True))

    def no_gain(self, gain: Bound) -> list[Offender]:
        """Whether NVLink SHARP is missing, fails, or slows all-reduce down. Raises NotMeasured where it fails without it too, and where
        NCCL's log does not tell of it.
        """
        if talk.environment(self.node).get(NVLS) == "0":
            pytest.skip(f"the inventory turns NVLink SHARP off for {self.node.name} ({NVLS}=0)")
        on, off = self._run(ALONE), self._run(WITHOUT_NVLS)
        if off.outcome != "ok":
            raise NotMeasured(f"{self.node.name}: all-reduce {SAID[WITHOUT_NVLS]} ended in {off.outcome}: nothing to compare with")
        found = self._failed(on) or self._missing(on) or self._slower(on, off, gain) or self._slow(on, "node_busbw_gbytes_per_second")
        if not found and self._available(on) is None:
            raise NotMeasured(f"{self.node.name}: NCCL's log says nothing of NVLink SHARP (NVLS)")
        return blamed(found)

    def _run(self, kind: str) -> Trial:
        """Its trial of that kind. Raises NotMeasured."""
        mine = [each for each in self.kind.alone if each.members == (self.node.name,)]
        run = [each.trial for each in mine if each.trial and each.trial.kind == kind]
        if not run:
            why = next((each.not_run for each in mine if each.not_run), "") or self.kind.begun.ended
            raise NotMeasured(f"{self.node.name}: all-reduce {SAID[kind]} was not run{': ' + why if why else ''}")
        return run[-1]

    def _failed(self, trial: Trial) -> list[Offender]:
        return [] if trial.outcome == "ok" else [self._offender(trial, f": {trial.outcome}: {trial.message:.300} (trial {trial.id})")]

    def _available(self, on: Trial) -> bool | None:
        """What NCCL's log says of NVLink SHARP; None: nothing."""
        told = next((each.told.get(self.node.name, {}).get("way") for each in self.kind.alone if each.name == on.id), None)
        found = way([str(line) for line in told] if isinstance(told, list) else []).nvls
        return found if found is None else self.derived("nvlink_sharp", found)

    def _missing(self, on: Trial) -> list[Offender]:
        if self._available(on) is not False:
            return []
        return [self._offender(on, ": NCCL finds no NVLink SHARP, which these NVSwitches have (NVLS multicast support is not available)")]

    def _slower(self, on: Trial, off: Trial, gain: Bound) -> list[Offender]:
        with_, without = self._rate(on), self._rate(off)
        ratio = self.derived("nvlink_sharp_gain", round(with_ / without, 3))
        if ratio in gain:
            return []
        said = f" reaches {with_:.4g} GB/s with NVLink SHARP, {ratio:g} times the {without:.4g} without (limit {gain})"
        return [self._offender(on, said)]

    def _slow(self, trial: Trial, floors: str, required: bool = False) -> list[Offender]:
        """Against the profile's floor, then the other nodes alike; required: skip the check where there is neither."""
        rate, size, profile = self._rate(trial), _size(trial), self.kind.profile
        known = profile.interconnect if profile.interconnect and size >= profile.interconnect.floor_bytes else None
        floor: Bound | None = getattr(known, floors).get(COLLECTIVE) if known else None
        if floor is not None and rate not in floor:
            return [self._offender(trial, f" reaches {rate:.4g} GB/s (limit {floor})")]
        fraction = limit(profile, "trial_peer_fraction")
        alike = [each.trial for each in self.kind.alone if each.trial and each.trial.kind == trial.kind and _size(each.trial) == size]
        least = bound([_rate_at(each, size) for each in alike], Limit(COLLECTIVE, effect=1.0 - (fraction.low or 0.0)))
        if least is None and floor is None and required:
            pytest.skip(f"fewer than 8 nodes alike, and profile {profile.name} gives no floor: nothing to judge {rate:.4g} GB/s by")
        if least is None or rate >= least:
            return []
        return [self._offender(trial, f" reaches {rate:.4g} GB/s (limit {least:.4g}, of the other nodes)")]

    def _rate(self, trial: Trial) -> float:
        """The bus bandwidth at the largest size, noted. Raises NotMeasured."""
        rate = _rate_at(trial, _size(trial))
        if not rate:
            raise NotMeasured(f"{self.node.name}: all-reduce {SAID[trial.kind]}: no figure was measured")
        return self.derived(f"{COLLECTIVE}_busbw_gb_s{'' if trial.kind == ALONE else '_without_nvls'}", round(rate, 4))

    def _offender(self, trial: Trial, said: str) -> Offender:
        return Offender(None, f"{self.node.name}: all-reduce {SAID[trial.kind]}{said}")


def _size(trial: Trial) -> int:
    """The largest message."""
    return max((size_of(value.metric) for value in trial.values), default=0)


def _rate_at(trial: Trial, size: int) -> float:
    """GB/s; 0 where it was not measured."""
    return next((value.number for value in trial.values if op(value.metric) == COLLECTIVE and what(value.metric) == "busbw_gb_s"
                 and size_of(value.metric) == size), 0.0)
