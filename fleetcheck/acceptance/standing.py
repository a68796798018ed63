"""What stands at a node at one moment: serial numbers, firmware, boot, and what only a reset takes back. Pure, on the controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fleetcheck.facts.kernel_events import classify, records_of
from fleetcheck.installed import installed
from fleetcheck.records import Answer

CHARACTERS = 80
MOST_PIECES = 512
"""Of a node: more than any machine has."""
GPU_FIRMWARE = ("vbios", "gsp_firmware", "inforom_image")
ENERGY = "energy_joules"
"""NVML counts it since the driver was loaded; a reset of the GPU begins it anew."""
Answers = Mapping[str, Answer]


@dataclass(frozen=True)
class Standing:
    """serials: by piece (``gpu 0000:61:00.0``); firmware: by piece and what (``gpu 0000:61:00.0 vbios``); grown: by GPU, counters that
    never fall within a boot unless the GPU was reset; recovered: by slot, when the kernel last told of a recovery, in seconds since boot.
    """

    boot_id: str = ""
    machine: str = ""
    serials: Mapping[str, str] = field(default_factory=dict)
    firmware: Mapping[str, str] = field(default_factory=dict)
    grown: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    recovered: Mapping[str, float] = field(default_factory=dict)

    def then(self, later: Standing) -> Standing:
        """This, with what a later moment told anew."""
        return Standing(later.boot_id or self.boot_id, later.machine or self.machine, {**self.serials, **later.serials},
                        {**self.firmware, **later.firmware}, {**self.grown, **later.grown}, {**self.recovered, **later.recovered})

    def knowing(self, earlier: Standing) -> Standing:
        """This, with the pieces that only an earlier moment told: a serial that was not read once is compared with the time before."""
        return replace(self, serials={**earlier.serials, **self.serials}, firmware={**earlier.firmware, **self.firmware})


def standing(answers: Answers) -> Standing:
    """What the collectors of one probe, or of a snapshot, told."""
    answers = {name: answer for name, answer in answers.items() if isinstance(answer.data, Mapping)}
    system = _data(answers, "system")
    serials, firmware = dict(_first(_serials(answers))), dict(_first(_firmware(answers)))
    return Standing(_text(system.get("boot_id")), _text(system.get("serial")), serials, firmware, dict(_grown(answers)),
                    _recovered(_data(answers, "kernel_log")))


def _first(pieces: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for _, piece in zip(range(MOST_PIECES), pieces, strict=False):
        yield piece


def _serials(answers: Answers) -> Iterator[tuple[str, str]]:
    for part in installed(answers):
        if part.serial:
            yield f"{part.kind} {part.slot or part.label}", part.serial
    for place, gpu in _gpus(answers):
        yield from _named(f"gpu {place} board", _mapping(gpu.get("identity")).get("uuid"))
    for name, device in _mapping(_data(answers, "rdma").get("devices")).items():
        yield from _named(f"adapter {_text(name)}", _mapping(device).get("node_guid"))
    yield from _named("board", _mapping(_data(answers, "system").get("machine")).get("board_serial"))


def _firmware(answers: Answers) -> Iterator[tuple[str, str]]:
    yield from _named("BIOS", _mapping(_data(answers, "system").get("machine")).get("bios_version"))
    for place, gpu in _gpus(answers):
        for name in GPU_FIRMWARE:
            yield from _named(f"gpu {place} {name}", _mapping(gpu.get("identity")).get(name))
    for kind, collector, key, leaf in (("adapter", "rdma", "devices", "fw_ver"), ("drive", "drives", "nvme", "firmware"),
                                       ("drive", "drives", "disks", "firmware"), ("interface", "modules", "interfaces", "firmware")):
        for name, device in _mapping(_data(answers, collector).get(key)).items():
            yield from _named(f"{kind} {_text(name)}", _mapping(device).get(leaf))


def _grown(answers: Answers) -> Iterator[tuple[str, dict[str, float]]]:
    for place, gpu in _gpus(answers):
        power, counters, ecc = (_mapping(gpu.get(section)) for section in ("power", "counters", "ecc"))
        replays = counters.get("pcie_replays")
        told = {ENERGY: power.get(ENERGY), "pcie_replays": replays[-1] if isinstance(replays, list) and replays else None,
                **{name: ecc.get(name) for name in ("volatile_corrected", "volatile_uncorrected")}}
        yield f"gpu {place}", {name: float(value) for name, value in told.items()
                               if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e18}


def _recovered(log: Mapping[str, Any]) -> dict[str, float]:
    """Xid 154 with the target ``none``: what was pending is over."""
    lines = [each for each in _list(log.get("records")) if ": 154" in str(each.get("text"))]
    events = (classify(record) for record in records_of(lines)[0])
    return {event.slot: event.seconds for event in events if event and event.code == "xid-154" and event.cleared}


def _gpus(answers: Answers) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each GPU by its address, or by its index where it tells none."""
    for gpu in _list(_data(answers, "gpu").get("gpus"))[:64]:
        yield _text(_mapping(gpu.get("identity")).get("address")) or f"{gpu.get('index')}"[:CHARACTERS], gpu


def _named(name: str, value: object) -> Iterator[tuple[str, str]]:
    text = _text(value)
    if text:
        yield name, text


def _data(answers: Answers, name: str) -> Mapping[str, Any]:
    answer = answers.get(name)
    return answer.data if answer and answer.ok and isinstance(answer.data, Mapping) else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _text(value: object) -> str:
    """A word that was told, on one line; what was not measured is a mapping, and no word."""
    shown = value.strip()[:CHARACTERS] if isinstance(value, str) else ""
    return "".join(char if char.isprintable() else "?" for char in shown)
