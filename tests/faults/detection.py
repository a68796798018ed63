"""``make detection``: every injection of the corpus, every look-alike; prints how far verdicts can be trusted, and writes docs/detection.md.

``python tests/faults/detection.py [--seed N] [--only PATTERN] [--noise N] [--write FILE]``
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT)]

import corpus  # noqa: E402
import faultrun  # noqa: E402
import noise  # noqa: E402
from faultrun import Told  # noqa: E402
from fleetrun import CHECKS  # noqa: E402

from fleetcheck import checkbook  # noqa: E402

HOW = """Each fault of the corpus (`tests/faults/corpus/`) is laid over healthy simulated nodes two times or more, with another GPU,
bus id, pid, wording and profile each time. All are nodes of ordinary runs: real SSH, the node code, every check, the verdict, with
healthy nodes beside them. The counts below are of injections.

- **recall**: every check that should find the fault failed on its node and named the part.
- **right action**: the node's verdict and action are the fault's, and so are severity and action of the finding.
- **false alarms**: checks that failed without a cause: any on a node with a fault, degraded or failed ones on look-alikes and healthy nodes.

The faults are simulated by those who wrote the checks, from what vendors, kernels and other suites document. A fault of a kind that
nobody thought of is in neither; so the figures are an upper bound of what a fleet will show."""


def checks_without_fault(faults: Sequence[corpus.Fault]) -> list[str]:
    """Checks that nothing in the corpus makes fail; those of loads and of several nodes have their faults in tests/burnin, tests/interconnect
    and tests/cabling, for no fact of one node shows them."""
    elsewhere = ("/burnin/", "/interconnect/")
    return sorted({entry.name for entry in checkbook.read(CHECKS) if not any(folder in entry.file for folder in elsewhere)} - corpus.targets(faults))


def share(some: int, of: int) -> str:
    """As per cent, rounded down: 100.0 means all."""
    return f"{1000 * some // of / 10 if of else 0:.1f} %"


def report(told: Sequence[Told], faults: Sequence[corpus.Fault], seed: int) -> str:
    """The page; its first three lines are for machines."""
    faulty = [each for each in told if not each.injection.fault.silent]
    silent = [each for each in told if each.injection.fault.silent]
    found = [each for each in faulty if not each.missed]
    right = [each for each in found if not each.misjudged]
    alarms = [(each, alarm) for each in told for alarm in each.false_alarms]
    lines = [f"recall: {share(len(found), len(faulty))}", f"right action: {share(len(right), len(faulty))}", f"false alarms: {len(alarms)}", ""]
    kinds = len({each.injection.fault.id for each in faulty})
    lookalikes = len({each.injection.fault.id for each in silent if each.injection.fault.component != "noise"})
    healthy = sum(each.injection.fault.component == "noise" for each in silent)
    lines += ["# How far verdicts can be trusted", "", f"Written by `make detection` (seed {seed}): {kinds} faults in {len(faulty)} injections, "
              f"{lookalikes} look-alikes in {len(silent) - healthy}, {healthy} healthy nodes beside them.", "", HOW, ""]
    lines += _table(faulty) + _listed("Missed", [(each, problem) for each in faulty for problem in each.missed])
    lines += _listed("Found, but misjudged", [(each, problem) for each in found for problem in each.misjudged])
    lines += _listed("False alarms", alarms) + _section("Checks without a fault", checks_without_fault(faults))
    return "\n".join(lines + _section("Faults whose check does not exist yet", [each.id for each in faults if each.pending]))


def _table(faulty: Sequence[Told]) -> list[str]:
    by_component: dict[str, list[Told]] = defaultdict(list)
    for each in faulty:
        by_component[each.injection.fault.component].append(each)
    rows = [
        f"| {component} | {len({each.injection.fault.id for each in group})} | {len(group)} | "
        f"{share(sum(not each.missed for each in group), len(group))} | "
        f"{share(sum(not each.missed and not each.misjudged for each in group), len(group))} |"
        for component, group in sorted(by_component.items())
    ]
    return ["## By component", "", "| component | faults | injections | recall | right action |", "|---|---|---|---|---|", *rows, ""]


def _listed(title: str, problems: Sequence[tuple[Told, str]]) -> list[str]:
    shown = [f"{each.injection.name} ({each.injection.profile}): {problem}".replace("\n", "\\n") for each, problem in problems]
    return _section(title, shown)


def _section(title: str, entries: Sequence[str]) -> list[str]:
    return [f"## {title}", "", *([f"- {entry}" for entry in entries] or ["None."]), ""]


def options() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only faults whose id or file matches; writes nothing")
    parser.add_argument("--noise", type=int, default=100, help="healthy nodes beside them")
    parser.add_argument("--write", type=Path, help="where the page goes")
    parser.add_argument("--keep", type=Path, help="an empty folder for the runs; else they are removed")
    return parser.parse_args()


def main() -> int:
    """Measure, print, write; 0 when nothing was missed, misjudged or alarmed."""
    chosen = options()
    faults = corpus.faults()
    wanted = [each for each in faults if re.search(chosen.only, f"{each.file}/{each.id}")]
    injections = [*corpus.chosen(wanted, chosen.seed), *noise.healthy(chosen.noise, chosen.seed)]
    with tempfile.TemporaryDirectory(prefix="fleetcheck-detection-") as temporary:
        told = faultrun.run(injections, chosen.keep or Path(temporary), chosen.seed, apart="always" if chosen.only else "if-needed")
    page = report(told, faults, chosen.seed)
    print(page)
    if chosen.write and not chosen.only:
        chosen.write.write_text(page)
    return int(any(each.missed or each.misjudged or each.false_alarms for each in told))


if __name__ == "__main__":
    sys.exit(main())
