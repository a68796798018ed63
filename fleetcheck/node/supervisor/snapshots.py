"""Runs on the node: what collectors say before and after a load, asked in a process of its own under one deadline."""

import json
import os
from typing import Any, Dict, List, Mapping, NoReturn

from fleetcheck.node import process
from fleetcheck.node.child import let_go
from fleetcheck.node.host import Host

SECONDS = 90.0
PARALLEL = 4


def start(host: Host, names: List[str], settings: Mapping[str, Any], seconds: float, path: str) -> int:
    """Ask the collectors in a child that writes their answers to a file; its process id."""
    pid = os.fork()
    if pid == 0:
        _become(host, names, settings, seconds, path)
    return pid


def _become(host: Host, names: List[str], settings: Mapping[str, Any], seconds: float, path: str) -> NoReturn:
    try:
        from fleetcheck.node import runner
        from fleetcheck.node.supervisor.files import write_json

        process.die_with_parent()
        process.set_name("fc-snapshot")
        let_go(keep=set())
        readable, _ = os.pipe()  # whose end never comes
        asked = {"collectors": names, "settings": settings, "seconds": seconds, "parallel": PARALLEL}
        runner.expect_end(seconds)
        answers = runner.gather(asked, host, readable)
        write_json(path, {name: json.loads(answer.decode()) for name, answer in answers.items()})
    finally:
        os._exit(0)


def brief(before: Dict[str, Any], after: Dict[str, Any]) -> None:
    """Leave of the kernel log only what came between: its lines are told as events, and its length would fill an answer."""
    last = -1
    for answers in (before, after):
        data = answers.get("kernel_log", {}).get("data", {})
        records = data.get("records")
        if isinstance(records, list):
            data["records"] = [one for one in records if isinstance(one.get("sequence"), int) and one["sequence"] > last]
            newest = max([one["sequence"] for one in records if isinstance(one.get("sequence"), int)], default=last)
            data["last_sequence"] = newest
            if answers is before:
                data["records"], last = [], newest
        for older in ("journal", "previous_boot"):
            if older in data:
                data[older] = {"absent": "not part of a snapshot"}
