"""``make localisation``: thousands of simulated campaigns; writes how often exactly the culprits are named to docs/localisation.md.

``python tests/localisation/grid.py [--trials N] [--seconds S] [--processes N] [--write FILE]``; seconds: the most that one row may take. Rows
are counted side by side, one in each process.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "localisation"), str(ROOT)]

from simulation import Told, simulate  # noqa: E402

BEGIN, END = "<!-- figures: written by make localisation -->", "<!-- end of figures -->"
SETTINGS = (
    *((size, count, {}) for size in (16, 64, 256, 1024, 4096) for count in range(6)),
    *((size, count, {"mode": "full"}) for size in (16, 64) for count in (1, 3, 5)),
    *((256, count, {"rails": 0, "leaf": 0}) for count in (0, 3)),
    *((256, count, {"hiccups": 0.002}) for count in (0, 3)),
)


@dataclass(frozen=True)
class Row:
    """What came of one setting. late: campaigns that took more than four rounds; only of quick ones."""

    size: int
    count: int
    how: str
    trials: int
    exact: int
    blamed: int
    late: int
    rounds: float


def row(size: int, count: int, options: dict, most: int, seconds: float) -> Row:
    """Campaigns of one setting: most of them, or as many as the seconds allow."""
    ends = time.monotonic() + seconds
    told: list[Told] = []
    while len(told) < most and (time.monotonic() < ends or not told):
        told.append(_without_trials(simulate(size, count, len(told), **options)))
    return Row(size, count, _how(options), len(told), sum(each.exact for each in told), sum(len(each.findings) for each in told),
               sum(each.rounds > max(4, each.planned + 2) for each in told), sum(each.rounds for each in told) / len(told))


def _without_trials(told: Told) -> Told:
    return Told(told.culprits, told.findings, told.rounds, told.planned)


def _how(options: dict) -> str:
    if options.get("mode") == "full":
        return "every pair"
    if options.get("hiccups"):
        return "1 trial in 500 slow by chance"
    return "no labels, no rails" if options.get("leaf") == 0 else ""


def share(some: int, of: int) -> str:
    """As per cent, rounded down: 100.0 means all."""
    return f"{1000 * some // of / 10 if of else 0:.1f} %"


def figures(rows: Sequence[Row]) -> Iterator[str]:
    """The lines for machines."""
    worst = min(rows, key=lambda each: each.exact / each.trials)
    clean = [each for each in rows if not each.count]
    few = [each for each in rows if 0 < each.count <= 3 and not each.how]
    yield f"exact set, all settings: {share(sum(each.exact for each in rows), sum(each.trials for each in rows))}"
    yield f"exact set, worst setting: {share(worst.exact, worst.trials)}"
    yield f"false blames without culprits: {sum(each.blamed for each in clean)} in {sum(each.trials for each in clean)} campaigns"
    yield f"at most 4 rounds with up to 3 culprits: {share(sum(each.trials - each.late for each in few), sum(each.trials for each in few))}"


def page(rows: Sequence[Row], below: str) -> str:
    """The page: figures, table, and what stood below them."""
    lines = [*(f"{line}" for line in figures(rows)), "", "# How the culprit is found", "", BEGIN, "",
             "| nodes | culprits | setting | campaigns | exact set | at most 4 rounds | mean rounds |", "|---|---|---|---|---|---|---|"]
    lines += [f"| {each.size:,} | {each.count} | {each.how} | {each.trials:,} | {share(each.exact, each.trials)} | "
              f"{'' if each.how == 'every pair' else share(each.trials - each.late, each.trials)} | {each.rounds:.1f} |" for each in rows]
    return "\n".join([*lines, "", END]) + below


def main() -> None:
    """Runs the grid."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    rows = []
    with ProcessPoolExecutor(asked.processes) as pool:
        for counted in [pool.submit(row, *setting, asked.trials, asked.seconds) for setting in SETTINGS]:
            rows.append(counted.result())
            print(rows[-1], flush=True)
    print("\n".join(figures(rows)))
    if asked.write:
        below = asked.write.read_text().partition(END)[2] if asked.write.exists() else "\n"
        asked.write.write_text(page(rows, below))


if __name__ == "__main__":
    main()
