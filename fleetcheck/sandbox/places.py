"""Words for a place on the node, so that one override fits every profile: ``{gpu3.pci}``, ``{link0}``. Pure."""

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
    words: dict[str, str] = {}
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
        "kmsg": _deep(overrides.kmsg, words),
        "previous_boot": _deep(overrides.previous_boot, words),
        "files": _deep(overrides.files, words),
        "commands": {_text(name, words): _answer(answer, words) for name, answer in overrides.commands.items()},
    })


def _text(text: str, words: Mapping[str, str]) -> str:
    if "{" not in text:
        return text
    for word in PLACE.findall(text):
        if word not in words:
            raise SandboxError(f"{{{word}}}: this node has none; it has {', '.join(words) or 'no such part'}")
    return PLACE.sub(lambda found: words[found[1]], text)


def _deep(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _text(value, words)
    if isinstance(value, tuple):
        return tuple(_text(part, words) for part in value)
    if isinstance(value, Mapping):
        return {_text(key, words): _deep(part, words) for key, part in value.items()}
    return value


def _answer(answer: CommandAnswer | None, words: Mapping[str, str]) -> CommandAnswer | None:
    if answer is None:
        return None
    return answer.model_copy(update={name: _deep(getattr(answer, name), words) for name in ("stdout", "stderr")})
