"""Injections as the nodes of one simulated fleet, checked by one ordinary run over SSH; and what came of each."""

from __future__ import annotations

import json
import random
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import wording
import yaml
from corpus import VERDICTS, Injection
from fleetrun import CHECKS, Outcome, run_pytest

from fleetcheck.profiles import load_profile
from fleetcheck.records import result_of
from fleetcheck.run import Run
from fleetcheck.sandbox.machine import machine
from fleetcheck.sandbox.places import PLACE, places
from fleetcheck.verdict import RunInfo, judge

PROFILES = Path(__file__).parent / "profiles"
SERVED_PORT = "65432"
"""Stands in the corpus' profiles for a port that listens while a run lasts."""
CONNECTIONS = 8
LARGEST_RUN = 240
"""Nodes of one run; more are several runs, one after the other."""
SECONDS_A_NODE = 20
SERIOUS = ("degraded", "fatal")


@dataclass(frozen=True)
class Told:
    """What a run told of one injection's node. failed, unmeasured: results by check; verdict: its entry in verdicts.json."""

    injection: Injection
    node: str
    failed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    unmeasured: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    verdict: Mapping[str, Any] = field(default_factory=dict)

    @property
    def missed(self) -> list[str]:
        """Expected checks that did not fail, or do not name the part."""
        wanted = self._resolved(self.injection.fault.names)
        gone = [f"{check}: {self._why_not(check)}" for check in self.injection.fault.fails if check not in self.failed]
        unnamed = [check for check in self.injection.fault.fails if check in self.failed and not self._names(check, wanted)]
        return [*gone, *(f"{check} does not name {wanted!r}: {self.failed[check]['message']}" for check in unnamed)]

    @property
    def misjudged(self) -> list[str]:
        """Severity, action or verdict other than expected."""
        fault = self.injection.fault
        expected = {"verdict": VERDICTS[fault.severity], "action": fault.action}
        if fault.silent:
            return [] if self.verdict["verdict"] == "healthy" else [f"verdict {self.verdict['verdict']}"]
        wrong = [f"{name} {self.verdict[name]}, not {value}" for name, value in expected.items() if self.verdict[name] != value]
        graded = [(check, self.failed[check]) for check in fault.fails[:1] if check in self.failed]
        return wrong + [
            f"{check}: {name} {result[name]}, not {value}" for check, result in graded
            for name, value in (("severity", fault.severity), ("action", fault.action)) if result[name] != value
        ]

    @property
    def false_alarms(self) -> list[str]:
        """Checks that failed though nothing of theirs is wrong; of a look-alike, only a degraded or failed finding is one."""
        fault = self.injection.fault
        wrong = [check for check in self.failed if check not in (*fault.fails, *fault.consequences)]
        serious = [check for check in wrong if not fault.silent or self.failed[check]["severity"] in SERIOUS]
        return [f"{check}: {self.failed[check]['message']}" for check in serious]

    def _why_not(self, check: str) -> str:
        return f"not measured: {self.unmeasured[check]['message']}" if check in self.unmeasured else "passed"

    def _names(self, check: str, wanted: str) -> bool:
        result = self.failed[check]
        return wanted in json.dumps([result["message"], result["parts"]], ensure_ascii=False)

    def _resolved(self, text: str) -> str:
        if not PLACE.search(text):
            return text
        profile = load_profile(self.injection.profile, PROFILES.parent / "fleet.yaml")
        known = places(profile, machine(profile, self.node, 0, time.time()).gpus)
        return PLACE.sub(lambda found: known[found[1]], text)


def run(injections: Iterable[Injection], folder: Path, seed: int, apart: str = "never") -> list[Told]:
    """Every injection a node of its own, in as few runs as hold them; kinds of faults are spread over runs evenly.

    apart: judge each node by itself: ``never``, ``always`` (few faults of one kind, with too few healthy nodes beside them), or
    ``if-needed``, where a common cause took findings from nodes; it is then told on standard error.
    """
    shuffled = list(injections)
    random.Random(seed).shuffle(shuffled)
    runs = -(-len(shuffled) // LARGEST_RUN)
    together = [each for each in shuffled if "nvlink_domain" in each.fault.inventory]  # compared with one another
    others = [each for each in shuffled if each not in together]
    shares = [[*(together if number == 0 else ()), *others[number::runs]] for number in range(runs)]
    return [told for number, share in enumerate(shares) for told in _one_run(share, folder / f"run-{number}", apart)]


def _one_run(injections: Sequence[Injection], folder: Path, apart: str) -> list[Told]:
    folder.mkdir(parents=True)
    named = {f"n{number:03}": injection for number, injection in enumerate(injections)}
    (folder / "fleet.yaml").write_text(_inventory(named))
    with socket.create_server(("127.0.0.1", 0)) as served:
        _write_profiles(folder / "profiles", served.getsockname()[1])
        ended = run_pytest(CHECKS, "--inventory", "fleet.yaml", "-n", CONNECTIONS, "-q", "--no-summary", "-p", "no:cacheprovider",
                           cwd=folder, timeout=120 + SECONDS_A_NODE * len(named))
    if ended.status not in (0, 1, 6):
        raise RuntimeError(f"the run in {folder} ended with {ended.status}:\n{ended.output[-4000:]}")
    return _read(named, ended, _verdicts(ended, apart))


def _write_profiles(folder: Path, port: int) -> None:
    """The corpus' own profiles, with a port that answers."""
    folder.mkdir()
    for profile in PROFILES.glob("*.yaml"):
        (folder / profile.name).write_text(profile.read_text().replace(SERVED_PORT, str(port)))


def _inventory(named: Mapping[str, Injection]) -> str:
    """The fleet of the injections."""
    nodes = {node: {"profile": injection.profile, **injection.fault.inventory} for node, injection in named.items()}
    described = {
        node: json.loads(json.dumps(injection.overrides).replace(wording.NODE, node)) or None for node, injection in named.items()
    }
    return yaml.safe_dump({"fleet": "faults", "nodes": nodes, "sandbox": {"nodes": described}},
                          sort_keys=False, allow_unicode=True, width=10_000)


def _verdicts(ended: Outcome, apart: str) -> Mapping[str, Any]:
    """By node, its verdict; RuntimeError when a common cause took findings from nodes that may not be judged apart."""
    common = [finding for finding in ended.verdicts["fleet_findings"] if finding["kind"] == "common-cause"]
    if (common and apart == "never") or ended.verdicts["missing"]:
        raise RuntimeError(f"a run whose nodes are not judged each by itself: {common} {ended.verdicts['missing']}")
    if common:
        print(f"{ended.run}: judged node by node, for there was a common cause: {common}", file=sys.stderr)
    return _apart(ended) if common or apart == "always" else ended.verdicts["nodes"]


def _apart(ended: Outcome) -> Mapping[str, Any]:
    """By node, the verdict it would have had alone."""
    records = Run(ended.run)
    info = RunInfo(run=records.id, fleet="faults", tier="quick", started="")
    of = defaultdict(lambda: ([], []))
    for kind, each in [*((0, each) for each in records.planned()), *((1, each) for each in records.judged())]:
        for node in each.blamed if kind else [each.node]:
            of[node][kind].append(each)
    of.pop("", None)
    nodes = {node.name: node for node in records.inventory().nodes}
    return {name: judge(info, [nodes[name]], *both, {})["nodes"][name] for name, both in of.items()}


def _read(named: Mapping[str, Injection], ended: Outcome, verdicts: Mapping[str, Any]) -> list[Told]:
    told: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {node: ({}, {}) for node in named}
    for result in ended.lines("results"):
        if result["outcome"] in ("failed", "error"):
            for node in result_of(result).blamed:
                told[node][result["outcome"] == "error"][result["check"]] = result
    return [Told(injection, node, *told[node], verdicts[node]) for node, injection in named.items()]
