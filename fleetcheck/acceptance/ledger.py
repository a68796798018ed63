"""acceptance.jsonl of a run: what stood at each node before and after its loads, and how long it was loaded; and earlier runs' of it.

Runs on the controller. It is kept as long as the verdicts, for evidence goes after a month.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fleetcheck.acceptance.hours import Accepted, Clock, Loaded
from fleetcheck.acceptance.limits import required_hours
from fleetcheck.acceptance.standing import Standing, standing
from fleetcheck.burnin.schedule import LOADS, TIMES
from fleetcheck.facts.load_result import GPU_LOADS
from fleetcheck.inventory import Inventory, Node
from fleetcheck.records import Answer, Evidence
from fleetcheck.run import Run, RunError, lines, runs, write_atomically

FILE = "acceptance.jsonl"
TIER = "acceptance"


def accepted(run: Run, about: Mapping[str, Any], limits: str, nodes: Sequence[Node], inventory: Inventory) -> dict[str, Accepted]:
    """By node, its clock; nothing for another tier. about: the content of run.json. Writes acceptance.jsonl. Raises RunError."""
    if about.get("tier") != TIER:
        return {}
    own = {node.name: Loaded(run.id, str(about.get("started", "")), *told, limits=limits) for node, told in _told(run, nodes)}
    _write(run.path / FILE, own)
    clocks = _counted(own, _before(run, about))
    return {node.name: _accepted(node, clocks.get(node.name, Clock()), inventory) for node in nodes if node.in_service}


def _accepted(node: Node, clock: Clock, inventory: Inventory) -> Accepted:
    profile = inventory.profiles[node.profile]
    chosen = (node.load or {}).get("loads")
    others = () if profile.gpu else (*GPU_LOADS, "dcgm")
    left_out = tuple(load for load in TIMES[TIER] if chosen and load not in chosen and load not in others)
    return Accepted(clock, *required_hours(node, profile), left_out)


def _told(run: Run, nodes: Sequence[Node]) -> Iterator[tuple[Node, tuple[Standing, Standing, float]]]:
    """Of each node in service: what stood there before and after its loads, and seconds under load."""
    facts: dict[str, dict[str, Standing]] = {}
    loads: dict[str, tuple[Standing, float]] = {}
    for each in run.gathered():
        if each.probe == "load":
            loads[each.node] = after(each), loaded_seconds(each)
        else:
            facts.setdefault(each.node, {})[each.probe] = standing(each.answers)
    for node in nodes:
        began = Standing()
        for found in facts.get(node.name, {}).values():
            began = began.then(found)
        ended, seconds = loads.get(node.name, (Standing(), 0.0))
        if node.in_service:
            yield node, (began, began.then(ended), seconds)


def after(load: Evidence) -> Standing:
    """What stood there when the loads were over: the snapshot after them, and the boot id of the last poll."""
    told = load.answers.get("snapshots", Answer(False)).data
    later = told.get("after") if isinstance(told, Mapping) else None
    answers = {name: Answer(each.get("ok") is True, data=each.get("data") or {}) for name, each in (later or {}).items()
               if isinstance(each, Mapping)} if isinstance(later, Mapping) else {}
    boot = load.answers.get("load", Answer(False)).data.get("boot_id")
    return dataclasses.replace(standing(answers), boot_id=boot[:80] if isinstance(boot, str) else "")


def loaded_seconds(load: Evidence) -> float:
    """Seconds of the loads that ended well, no more than passed on this side between start and fetch."""
    results = (load.answers[name].data for name in LOADS if name in load.answers and load.answers[name].ok)
    told = [each.get("seconds") for each in results if isinstance(each, Mapping) and each.get("ok") is True]
    numbers = [float(each) for each in told if isinstance(each, (int, float)) and not isinstance(each, bool)]
    return min(sum(each for each in numbers if each > 0), max(load.seconds, 0.0))


def _write(path: Path, own: Mapping[str, Loaded]) -> None:
    told = ({"node": name, "seconds": each.seconds, **{when: dataclasses.asdict(getattr(each, when)) for when in ("began", "ended")}}
            for name, each in own.items())
    try:
        write_atomically(path, (json.dumps(each, separators=(",", ":"), allow_nan=False) + "\n" for each in told))
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}; free some space and try again") from error


def _counted(own: Mapping[str, Loaded], earlier: Iterable[Run]) -> dict[str, Clock]:
    clocks = {name: Clock() for name in own}
    for name, one in own.items():
        clocks[name].take(one)
    for run in earlier:
        if not any(each.open for each in clocks.values()):
            break
        try:
            for name, one in _loaded(run):
                if name in clocks and clocks[name].open:
                    clocks[name].take(one)
        except RunError as damaged:
            for each in clocks.values():
                each.stop(f"run {run.id} cannot be read, so nobody knows what it found: {damaged}")
    return clocks


def _before(run: Run, about: Mapping[str, Any]) -> Iterator[Run]:
    """Acceptance runs of the fleet before this one, or before the one that it replays, the newest first; no replays."""
    for other in runs(run.path.parent, before=str(about.get("replay_of") or "") or run.id):
        if (other.path / FILE).is_file() and _same(other, about):
            yield other


def _same(other: Run, about: Mapping[str, Any]) -> bool:
    try:
        told = other.facts
    except RunError:
        return False
    return told.get("fleet") == about.get("fleet") and told.get("tier") == TIER and not told.get("replay_of")


def _loaded(run: Run) -> Iterator[tuple[str, Loaded]]:
    """The nodes of an earlier run. Raises RunError where its files are damaged."""
    try:
        verdicts = run.conclusions()
        for line in lines(run.path / FILE):
            node = verdicts["nodes"].get(line["node"])
            if node:
                began, ended = Standing(**line["began"]), Standing(**line["ended"])
                yield line["node"], Loaded(run.id, verdicts["started"], began, ended, float(line["seconds"]),
                                           bool(node.get("acceptance", {}).get("counts")), _fault(node), verdicts.get("limits", ""))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RunError(f"{run.path}: {type(error).__name__}: {error}") from error


def _fault(node: Mapping[str, Any]) -> str:
    """What a run found of a node, if that makes its clock begin anew."""
    if node["verdict"] not in ("failed", "degraded"):
        return ""
    first = next((each for each in node["findings"] if not each["common_cause"]), {"check": node["verdict"], "message": ""})
    return f"{first['check']}: {first['message']}"[:200]
