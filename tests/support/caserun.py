"""The nodes described in ``tests/cases/nodes/*.yaml`` as one inventory, and one run of every check over them."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from fleetrun import CHECKS, read_lines, run_pytest

FOLDER = Path(__file__).parents[1] / "cases"
HEALTHY = 8
"""Sound nodes beside the described ones: with them no check fails on a tenth of the fleet, which would be one common cause."""


def described() -> dict[str, dict[str, Any]]:
    """Every node by name."""
    return {name: entry for file in sorted(FOLDER.glob("nodes/*.yaml")) for name, entry in yaml.safe_load(file.read_text()).items()}


def inventory() -> dict[str, Any]:
    """The inventory of all of them and of the sound ones."""
    entries = described()
    nodes = {name: {"profile": entry["profile"]} if "profile" in entry else {} for name, entry in entries.items()}
    return {
        "fleet": "cases", "defaults": {"profile": "h100-sxm5-8"}, "nodes": {**nodes, f"sound-[1-{HEALTHY}]": {"profile": "cpu-host"}},
        "sandbox": {"nodes": {name: entry["sandbox"] for name, entry in entries.items()}},
    }


@dataclass(frozen=True)
class Run:
    """verdicts: as in verdicts.json; results: by node."""

    verdicts: dict[str, Any]
    results: dict[str, list[dict[str, Any]]]

    def ended(self, node: str, outcome: str) -> dict[str, dict[str, Any]]:
        """The node's results of that outcome, by check."""
        return {each["check"]: each for each in self.results[node] if each["outcome"] == outcome}


def run(folder: Path) -> Run:
    """One run for all workers of a session; the first one makes it."""
    own = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    place = own / "cases"
    place.mkdir(exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / "reports" / "latest").exists():
            shutil.copytree(FOLDER / "profiles", place / "profiles")
            (place / "cases.yaml").write_text(yaml.safe_dump(inventory(), sort_keys=False, allow_unicode=True))
            ended = run_pytest(CHECKS, "--inventory", "cases.yaml", "-n", "16", "-p", "no:cacheprovider", cwd=place, timeout=500)
            assert ended.status == 1, ended.output
    latest = (place / "reports" / "latest").resolve()
    return Run(*_read(latest))


def _read(latest: Path) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    results: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for each in read_lines(latest / "results.jsonl"):
        results[each["node"]].append(each)
    return yaml.safe_load((latest / "verdicts.json").read_text()), results
