"""report.html: one self-contained page of a run, for screens, for paper, and without a network. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fleetcheck.inventory import Node
from fleetcheck.report.changes import Comparison
from fleetcheck.report.html import acceptance, content, embed, opening, reading
from fleetcheck.report.html.evidence import gathered
from fleetcheck.run import Run, RunError, write_atomically

NAME = "report.html"


def write(run: Run, verdicts: Mapping[str, Any], nodes: Sequence[Node], comparison: Comparison, run_dir: Path, inventory: str) -> Path:
    """Write the page into the run's folder. run_dir, inventory: paths as they are typed in commands. Raises RunError."""
    path = run.path / NAME
    outcomes = reading.outcomes(run, verdicts)
    found = gathered(run.evidence, {name for name, node in verdicts["nodes"].items() if node["verdict"] != "healthy"},
                     len(verdicts["nodes"]))
    points = acceptance.answered(acceptance.points(), outcomes)
    page = embed.page(
        first=opening.opening(verdicts, run.facts, nodes, comparison, found.use, opening.Typed(run_dir, inventory)),
        points=points, told=content.told(verdicts, nodes, outcomes, found, comparison, run_dir, inventory),
    )
    try:
        write_atomically(path, page)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}; free some space, then: fleetcheck report {run.id} --html") from error
    return path
