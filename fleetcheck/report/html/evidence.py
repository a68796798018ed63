"""What the page takes from the evidence: serial numbers, the scheduler's word, telemetry under load. Runs on the controller."""

from __future__ import annotations

import json
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck.picked import Picked
from fleetcheck.report.html.series import Series, series
from fleetcheck.run import chosen_lines

NODES_WITH_DIMMS = 1024
"""Memory modules are named up to that many nodes; beyond it, their serials alone would be longer than the page."""
NODES_WITH_CURVES = 256
POINTS = 110_000
"""Numbers of all curves together, which keeps the page below 2 MB at 64 nodes."""
LENGTH = 48
ANSWERS = {
    "system": "data STRUCT(machine JSON, busy JSON)", "gpu": 'data STRUCT(gpus STRUCT("index" JSON, identity JSON)[])',
    "rdma": "data STRUCT(devices MAP(VARCHAR, STRUCT(node_guid JSON, fw_ver JSON)))",
    "drives": "data STRUCT(nvme MAP(VARCHAR, STRUCT(serial JSON, firmware JSON)))", "scheduler": "data JSON", "telemetry": "ok BOOLEAN",
}
DIMMS = {"dimms": "data STRUCT(slots STRUCT(locator JSON, serial JSON)[])"}
"""What is read of which answer, in DuckDB's types."""


@dataclass
class Found:
    """By node: serials: (what, which, serial); job: what the scheduler and the node say of its use; curves: of a load."""

    serials: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    use: dict[str, str] = field(default_factory=dict)
    curves: dict[str, Series] = field(default_factory=dict)
    loaded: int = 0


def gathered(evidence: Path, suspects: Container[str], nodes: int) -> Found:
    """Read the evidence once for names, and the lines of loads again for curves. suspects: whose curves come first."""
    found = Found()
    loaded: dict[str, int] = {}
    for number, node, probe, answers in _told(evidence, nodes <= NODES_WITH_DIMMS):
        if probe == "load" and answers.get("telemetry") is not None:
            loaded[node] = number
        found.serials.setdefault(node, []).extend(_serials(answers))
        use = _use(answers)
        if use:
            found.use[node] = use
    found.loaded = len(loaded)
    chosen = sorted(loaded, key=lambda name: name not in suspects)[:NODES_WITH_CURVES]
    curves = dict(_curves(evidence, [loaded[name] for name in chosen]))
    found.curves = {name: curves[name] for name in chosen if name in curves}
    return found


def _told(evidence: Path, with_dimms: bool) -> Iterator[tuple[int, str, str, Mapping[str, Any]]]:
    """Number of the line, node, probe and answers of all that nodes told, of the answers only what is named here."""
    wanted = {**ANSWERS, **(DIMMS if with_dimms else {})}
    answers = ", ".join(f"{name} STRUCT({fields})" for name, fields in wanted.items())
    lines = Picked(evidence, {"node": "VARCHAR", "probe": "VARCHAR", "answers": f"STRUCT({answers})"})
    for number, (node, probe, told) in lines.each("probe, to_json(answers)"):
        if node:
            yield number, node, probe, json.loads(told or "{}")
    for number, line in lines.others():
        node, told = line.get("node"), line.get("answers")
        if node and isinstance(node, str) and isinstance(told, Mapping):
            yield number, node, str(line.get("probe")), {name: answer for name, answer in told.items() if name in wanted}


def _curves(evidence: Path, numbers: Sequence[int]) -> Iterator[tuple[str, Series]]:
    """The curves of the nodes whose evidence is in these lines."""
    for _, line in chosen_lines(evidence, set(numbers)) if numbers else ():
        curve = series(_data(line["answers"], "telemetry"), POINTS // len(numbers))
        if curve is not None:
            yield line["node"], curve


def _data(answers: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The data of one answer; empty where there is none, or something else."""
    answer = answers.get(name)
    data = answer.get("data") if isinstance(answer, Mapping) else None
    return data if isinstance(data, Mapping) else {}


def _serials(answers: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Every serial number the node told, the part it belongs to first."""
    machine = _under(_data(answers, "system"), "machine")
    yield from _named("board", [(machine.get("board_name"), machine.get("board_serial"))])
    gpus = [_under(gpu, "identity") | {"index": gpu.get("index")} for gpu in _list(_data(answers, "gpu"), "gpus")]
    yield from _named("GPU", [(each["index"], each.get("serial")) for each in gpus])
    hcas = _under(_data(answers, "rdma"), "devices")
    yield from _named("adapter", [(name, _under(hcas, name).get("node_guid")) for name in hcas])
    drives = _under(_data(answers, "drives"), "nvme")
    yield from _named("drive", [(name, _under(drives, name).get("serial")) for name in drives])
    yield from _firmware(answers, gpus)
    yield from _named("memory", [(each.get("locator"), each.get("serial")) for each in _list(_data(answers, "dimms"), "slots")])


def _firmware(answers: Mapping[str, Any], gpus: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Versions, pieces of one kind with the same version together."""
    adapters, drives = _under(_data(answers, "rdma"), "devices"), _under(_data(answers, "drives"), "nvme")
    leaves = {"VBIOS of GPU": "vbios", "GSP of GPU": "gsp_firmware"}
    told = [("BIOS", "", _under(_data(answers, "system"), "machine").get("bios_version")),
            *((what, each["index"], each.get(leaf)) for what, leaf in leaves.items() for each in gpus),
            *(("adapter", name, _under(adapters, name).get("fw_ver")) for name in adapters),
            *(("drive", name, _under(drives, name).get("firmware")) for name in drives)]
    groups: dict[tuple[str, str], list[str]] = {}
    for what, which, version in told:
        if isinstance(version, str) and version:
            groups.setdefault((what, version), []).append(str(which))
    yield from _named("firmware", [(f"{what} {','.join(names)}".strip(), version) for (what, version), names in groups.items()])


def _named(what: str, pairs: list[tuple[Any, Any]]) -> Iterator[tuple[str, str, str]]:
    yield from ((what, str(which)[:LENGTH], str(serial)[:LENGTH]) for which, serial in pairs
                if isinstance(which, (str, int)) and isinstance(serial, (str, int)) and str(serial))


def _under(mapping: Any, key: str) -> dict[str, Any]:
    value = mapping.get(key) if isinstance(mapping, Mapping) else None
    return dict(value) if isinstance(value, Mapping) else {}


def _list(mapping: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = mapping.get(key)
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _use(answers: Mapping[str, Any]) -> str:
    """The scheduler's state and reason, and jobs: who has the node, and who took it out of service."""
    told = _under(_data(answers, "scheduler"), "scontrol") or _under(_data(answers, "scheduler"), "sinfo")
    state, reason = (told.get(key) if isinstance(told.get(key), str) else "" for key in ("state", "reason"))
    jobs = _data(answers, "system").get("busy")
    busy = ", ".join(str(job) for job in jobs[:4]) if isinstance(jobs, list) else ""
    words = [f"scheduler: {state}" if state else "", reason if reason and reason != "none" else "", f"jobs: {busy}" if busy else ""]
    return "; ".join(filter(None, words))[:300]
