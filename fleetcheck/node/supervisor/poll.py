"""Runs on the node: what a load has told since it was last asked; answers are capped, and say when more is waiting."""

import os
from typing import Any, Dict, Mapping

from fleetcheck.node.encode import encode
from fleetcheck.node.host import Host
from fleetcheck.node.supervisor import place, state
from fleetcheck.node.supervisor.files import lines_after, read_json

ROOM_BYTES = 3 << 20


def poll(host: Host, asked: Mapping[str, Any]) -> Dict[str, Any]:
    """{state, …, windows, events, results, snapshots, next, more}; after: how many windows and events are known.

    Snapshots are handed out once the load has ended and every line is out. Results of loads named in after["results"]
    and snapshots named in after["snapshots"] are known and left out.
    """
    folder, after = place.folder(host, asked.get("id")), asked.get("after") or {}
    answer = state.told(host, folder)
    room = int(asked.get("room", ROOM_BYTES))
    answer["results"] = without(read_json(os.path.join(folder, state.RESULTS)), after.get("results"))
    room -= len(encode(answer["results"]))
    events = lines_after(os.path.join(folder, state.EVENTS), known(after, "events"), max(room, ROOM_BYTES // 4))
    windows = lines_after(os.path.join(folder, state.WINDOWS), known(after, "windows"),
                          max(room - events[1], ROOM_BYTES // 4))
    more = events[2] or windows[2]
    answer.update(events=events[0], windows=windows[0], more=more, snapshots={})
    answer["next"] = {"events": known(after, "events") + len(events[0]),
                      "windows": known(after, "windows") + len(windows[0])}
    if not more and answer["state"] != "running":
        snapshots = without(read_json(os.path.join(folder, state.SNAPSHOTS)), after.get("snapshots"))
        answer["snapshots"] = fitting(snapshots, ROOM_BYTES + ROOM_BYTES // 4 - len(encode(answer)))
    return answer


def known(after: Mapping[str, Any], what: str) -> int:
    """How many lines the asker has."""
    value = after.get(what, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("after.%s is %.40r; expected how many of them are known" % (what, value))
    return value


def without(found: Dict[str, Any], names: Any) -> Dict[str, Any]:
    """What the asker does not have yet."""
    return {name: value for name, value in found.items() if name not in (names or ())}


def fitting(snapshots: Dict[str, Any], room: int) -> Dict[str, Any]:
    """The snapshots, the longest answers of collectors replaced by an absent leaf until all fit."""
    kept = {when: dict(answers) for when, answers in snapshots.items() if isinstance(answers, dict)}
    sizes = {(when, name): len(encode(answer)) for when, answers in kept.items() for name, answer in answers.items()}
    while sizes and sum(sizes.values()) > room:
        when, name = max(sizes, key=lambda key: sizes[key])
        error = "its answer of %d bytes did not fit" % sizes.pop((when, name))
        kept[when][name] = {"ok": False, "seconds": 0, "error": error, "data": {}, "metrics": {}, "coverage": ""}
    return kept
