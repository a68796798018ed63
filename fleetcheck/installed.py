"""The replaceable pieces of a machine with their serial numbers, as its evidence names them. Pure, on the controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fleetcheck.recording import Part
from fleetcheck.records import Answer

CHARACTERS = 80


def installed(answers: Mapping[str, Answer]) -> tuple[Part, ...]:
    """The pieces that the collectors of one probe told: GPUs, drives, memory modules, cable modules. Labels are those of the checks.

    >>> installed({"gpu": Answer(True, data={"gpus": [{"index": 3, "identity": {"serial": "165", "address": "0000:61:00.0"}}]})})
    (Part(kind='gpu', label='GPU 3', slot='0000:61:00.0', serial='165'),)
    """
    return tuple(part for name, read in _READ.items() if (answer := answers.get(name)) and answer.ok for part in read(answer.data))


def _gpus(data: Mapping[str, Any]) -> Iterator[Part]:
    for gpu in _list(data.get("gpus")):
        identity = _mapping(gpu.get("identity"))
        yield Part("gpu", f"GPU {gpu.get('index')}"[:CHARACTERS], _text(identity.get("address")), _text(identity.get("serial")))


def _drives(data: Mapping[str, Any]) -> Iterator[Part]:
    for kind in ("nvme", "sata"):
        for name, drive in _mapping(data.get(kind)).items():
            yield Part(kind, str(name)[:CHARACTERS], _text(_mapping(drive).get("slot")) or str(name)[:CHARACTERS],
                       _text(_mapping(drive).get("serial")))


def _dimms(data: Mapping[str, Any]) -> Iterator[Part]:
    for slot in _list(data.get("slots")):
        if name := _text(slot.get("locator")):
            yield Part("dimm", f"DIMM {name}", name, _text(slot.get("serial")))


def _modules(data: Mapping[str, Any]) -> Iterator[Part]:
    for name, device in _mapping(data.get("devices")).items():
        serial = _text(_mapping(_mapping(device).get("module")).get("serial"))
        if serial:
            yield Part("nic", str(name)[:CHARACTERS], str(name)[:CHARACTERS], serial)


_READ = {"gpu": _gpus, "drives": _drives, "dimms": _dimms, "modules": _modules}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Iterator[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else iter(())


def _text(value: object) -> str:
    """A word that was told; what was not measured is a mapping, and no word."""
    return value.strip()[:CHARACTERS] if isinstance(value, str) else ""
