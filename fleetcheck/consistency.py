"""Whether nodes of one profile run the same versions and settings: the majority, and who differs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SETTINGS = {
    "driver.version": "driver", "driver.cuda_version": "cuda_driver", "gpu.identity.vbios": "vbios",
    "gpu.identity.gsp_firmware": "gsp_firmware", "system.kernel": "kernel", "system.os_image": "os_image", "fabric.manager_version": "",
    "hca.device.fw_ver": "", "cpu.governor": "", "gpu.ecc.mode_current_mode": "", "gpu.modes.compute_mode": "",
    "gpu.modes.mig_current_mode": "", "gpu.modes.persistence_mode": "", "nvme.firmware": "", "system.machine.bios_version": "",
    "software.torch": "", "software.cuda": "", "software.nccl": "", "software.plugin": "",
}
"""Versions and settings that nodes of a profile share, each with its word in a version bundle, if bundles name it."""
LEAST_NODES = 4


@dataclass(frozen=True)
class Odd:
    """Nodes that differ in one setting. usual: what the majority says, empty where there is none."""

    setting: str
    profile: str
    said: str
    nodes: tuple[str, ...]
    usual: str
    agreeing: int
    of: int

    def __str__(self) -> str:
        """As a finding says it."""
        if not self.usual:
            return f"{self.setting} differs among {self.of} nodes of {self.profile}, and no majority says which is right: {self.said}"
        return f"{self.setting} is {self.said}, on {self.agreeing} of {self.of} nodes of {self.profile} it is {self.usual}"


def odd(told: Mapping[str, Mapping[str, frozenset[str]]], profiles: Mapping[str, str],
        allowed: Mapping[tuple[str, str], frozenset[str]]) -> list[Odd]:
    """Who differs from the majority, setting by setting.

    told: setting → node → its values (several where its parts differ). profiles: by node. allowed: by profile and word of a bundle, the
    versions of the bundles that hold today: a node that runs one of them is as it may be, so a rolling upgrade is no finding.
    """
    found = list[Odd]()
    for setting, nodes in told.items():
        by_profile: dict[str, dict[str, frozenset[str]]] = {}
        for node, values in nodes.items():
            by_profile.setdefault(profiles.get(node, ""), {})[node] = values
        for profile, members in by_profile.items():
            found += _odd(setting, profile, members, allowed.get((profile, SETTINGS.get(setting, "")), frozenset()))
    return found


def _odd(setting: str, profile: str, members: Mapping[str, frozenset[str]], allowed: frozenset[str]) -> Iterable[Odd]:
    """Nothing of fewer than four nodes, nor where all differ from each other by nature."""
    counts = Counter(members.values())
    if len(members) < LEAST_NODES or len(counts) < 2:
        return
    usual, agreeing = counts.most_common(1)[0]
    wrong = {values: count for values, count in counts.items() if values != usual and not values <= allowed}
    if 2 * agreeing <= len(members):
        if wrong or not usual <= allowed:
            shares = ", ".join(f"{_text(values)} on {count}" for values, count in counts.most_common(4))
            yield Odd(setting, profile, shares, tuple(members), "", 0, len(members))
        return
    for values in wrong:
        nodes = tuple(node for node, said in members.items() if said == values)
        yield Odd(setting, profile, _text(values), nodes, _text(usual), agreeing, len(members))


def _text(values: frozenset[str]) -> str:
    return " and ".join(sorted(values)) or "nothing"
