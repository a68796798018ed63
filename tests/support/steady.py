"""Healthy nodes under short real loads, over and over: does the same node get the same verdict? ``make steady`` says how often not.

``python tests/support/steady.py [--runs N] [--duration TIME] [--reports DIR]``; fourteen simulated nodes a run.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from fleetrun import CHECKS, run_pytest  # noqa: E402

INVENTORY = """fleet: steady
defaults: {{claim: none, scratch: /scratch, torch_python: {python}}}
nodes:
  host-[01-12]: {{profile: cpu-host, load: {{device: cpu, loads: [cpu, dram, disk]}}}}
  gpu-[1-2]: {{profile: h100-sxm5-8, load: {{device: cpu, devices: 2, loads: [gemm, sdc, dcgm], settings: {{dcgm: {{level: 2}}}}}}}}
sandbox:
  nodes: {{'host-[01-12],gpu-[1-2]': {{files: {{/scratch/README: "for loads\\n"}}}}}}
"""
CONFIDENCE = 0.95


@dataclass
class Steady:
    """What came of all runs. verdicts: of node-runs; findings, gaps: of which check how often, with one message; outcomes: by node and check."""

    verdicts: Counter[str] = field(default_factory=Counter)
    findings: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    gaps: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    outcomes: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, verdicts: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> None:
        """One run."""
        for name, node in verdicts["nodes"].items():
            self.verdicts[node["verdict"]] += 1
            for each in node["findings"]:
                self.findings[f"{each['check']} ({each['severity']})"].append(f"{name}: {each['message']}")
        for each in results:
            self.outcomes[each["node"], each["check"]][each["outcome"]] += 1
            if each["outcome"] == "error":
                self.gaps[each["check"]].append(f"{each['node']}: {each['message']}")

    def lines(self) -> list[str]:
        """The report."""
        runs = self.verdicts.total()
        blamed = runs - self.verdicts["healthy"] - self.verdicts["unknown"]
        items = sum(each.total() for each in self.outcomes.values())
        same = sum(max(each.values()) for each in self.outcomes.values())
        return [
            f"{runs} node-runs of healthy nodes: {', '.join(f'{count} {verdict}' for verdict, count in self.verdicts.most_common())}",
            f"blamed: {blamed}; at {CONFIDENCE:.0%} confidence fewer than {upper(blamed, runs):.2%} of healthy node-runs are",
            f"outcomes of checks: {same} of {items} as most often on the same node ({same / max(1, items):.3%})",
            *(f"finding, {len(said)} times: {check}: {said[0]}" for check, said in sorted(self.findings.items())),
            *(f"not measured, {len(said)} times: {check}: {said[0]}" for check, said in sorted(self.gaps.items())),
        ]


def upper(count: int, of: int) -> float:
    """The upper end of a one-sided interval for a proportion (Clopper and Pearson); with none found, the rule of three.

    >>> round(upper(0, 300), 4), round(upper(1, 300), 4)
    (0.0099, 0.0157)
    """
    low, high = 0.0, 1.0
    while high - low > 1e-9 and of:
        middle = (low + high) / 2
        below = sum(math.comb(of, each) * middle**each * (1 - middle) ** (of - each) for each in range(count + 1))
        low, high = (middle, high) if below > 1 - CONFIDENCE else (low, middle)
    return high


def main() -> int:
    """Run them, say what came of them; 0 when every node-run was healthy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=22)
    parser.add_argument("--duration", default="60s")
    asked = parser.parse_args()
    steady = Steady()
    with tempfile.TemporaryDirectory(prefix="fleetcheck-steady-") as folder:
        (Path(folder) / "steady.yaml").write_text(INVENTORY.format(python=sys.executable))
        for number in range(1, asked.runs + 1):
            began = time.monotonic()
            done = run_pytest(CHECKS / "burnin", "--inventory", "steady.yaml", "--duration", asked.duration, "-n", "14", "--no-html", "-q",
                              "-p", "no:cacheprovider", cwd=folder, timeout=900, PYTHONPATH=str(ROOT))
            steady.add(done.verdicts, done.lines("results"))
            print(f"run {number} of {asked.runs}, {time.monotonic() - began:.0f} s, exit {done.status}: {steady.lines()[0]}", flush=True)
            for line in steady.lines()[3:]:
                print(f"    {line[:200]}", flush=True)
    print("\n".join(steady.lines()))
    return int(set(steady.verdicts) != {"healthy"})


if __name__ == "__main__":
    sys.exit(main())
