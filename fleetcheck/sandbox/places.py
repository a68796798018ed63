"""Words that stand for a place on the node, so that one override fits every profile: ``{gpu3.pci}``, ``{link0}``. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fleetcheck.profile import Profile
from fleetcheck.sandbox.description import CommandAnswer, Overrides
from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.machine import GpuSlot

PLACE = re.compile(r"\{(gpu\d+\.(?:pci|bus_id|uuid|serial)|link\d+|hca\d+)\}")


def places(profile: Profile, slots: Sequence[GpuSlot]) -> dict[str, str]:
    """Word → what it stands for on this node. pci is the form of the driver's messages, without the function."""
    words = {}
    for slot in slots:
        words |= {f"gpu{slot.index}.{name}": getattr(slot, name) for name in ("bus_id", "uuid", "serial")}
        words[f"gpu{slot.index}.pci"] = slot.bus_id.partition(".")[0]
    words |= {f"link{number}": name for number, name in enumerate(profile.links.names if profile.links else ())}
    words |= {f"hca{number}": name for number, name in enumerate(profile.hcas.names if profile.hcas else ())}
    return words


def filled(overrides: Overrides, profile: Profile, slots: Sequence[GpuSlot]) -> Overrides:
    """The overrides with every such word replaced; raises SandboxError where the node has no such place."""
    words = places(profile, slots)
    return overrides.model_copy(update={
        "kmsg": _texts(overrides.kmsg, words, profile), "previous_boot": _texts(overrides.previous_boot, words, profile),
        "files": _deep(overrides.files, words, profile),
        "commands": {_text(name, words, profile): _answer(answer, words, profile) for name, answer in overrides.commands.items()},
    })


def _texts(lines: Sequence[str], words: Mapping[str, str], profile: Profile) -> tuple[str, ...]:
    return tuple(_text(line, words, profile) for line in lines)


def _text(text: str, words: Mapping[str, str], profile: Profile) -> str:
    if "{" not in text:
        return text
    for word in PLACE.findall(text):
        if word not in words:
            raise SandboxError(f"{{{word}}}: a node of profile {profile.name} has none; expected one of {', '.join(words) or 'none'}")
    return PLACE.sub(lambda found: words[found[1]], text)


def _deep(value: Any, words: Mapping[str, str], profile: Profile) -> Any:
    if isinstance(value, str):
        return _text(value, words, profile)
    if isinstance(value, Mapping):
        return {_text(key, words, profile): _deep(part, words, profile) for key, part in value.items()}
    return value


def _answer(answer: CommandAnswer | None, words: Mapping[str, str], profile: Profile) -> CommandAnswer | None:
    if answer is None:
        return None
    outputs = {name: _deep(getattr(answer, name), words, profile) for name in ("stdout", "stderr")}
    return answer.model_copy(update=outputs)
