"""Judging and reporting a run again from the files it left, without contacting anybody. Runs on the controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fleetcheck import __version__
from fleetcheck import inventory as inventories
from fleetcheck.installed import installed
from fleetcheck.inventory import Inventory, Node
from fleetcheck.judging import Recorded, judged
from fleetcheck.measured import Machine
from fleetcheck.observed import machine_serial
from fleetcheck.records import Evidence, Failure
from fleetcheck.report import earlier, html, junit, terminal, textfile
from fleetcheck.report.key_measurements import KeyMeasurements
from fleetcheck.report.lines import Line
from fleetcheck.run import Run, RunError


def judge_again(run: Run, metrics_dir: str = "") -> dict[str, Any]:
    """Write verdicts.json anew from plan, evidence and results; its content. A run that never ended was interrupted.

    metrics_dir: where to write how the fleet stands, as after a run."""
    told, kept, key = run.facts, run.inventory(), KeyMeasurements()
    if not told:
        raise RunError(f"{run.about}: missing, so nobody knows what this run was asked; start a new one")
    with _readable(run), judged(_recorded(run, kept), key) as verdicts:
        textfile.write(run, key.values, kept.floor)
    if metrics_dir:
        textfile.publish(textfile.checked(metrics_dir), run, key.values, kept.floor)
    return verdicts


def _recorded(run: Run, kept: Inventory) -> Recorded:
    results = [each.slim() for each in run.judged()]
    return Recorded(run, {**run.facts, "fleet": kept.fleet}, kept, selected(run, kept), list(run.planned()), results,
                    failures(run.gathered()), machines(run, kept))


def machines(run: Run, kept: Inventory) -> dict[str, Machine]:
    """What stood at the names of those nodes that told."""
    profiles = {node.name: node.profile for node in kept.nodes}
    found: dict[str, Machine] = {}
    for each in run.gathered():
        if not each.node:  # trials of several nodes
            continue
        held = found.get(each.node, Machine(profiles.get(each.node, "")))
        parts = {part.label: part for part in installed(each.answers)}
        found[each.node] = Machine(held.profile, machine_serial(each) or held.serial, {**held.parts, **parts})
    return found


@contextmanager
def _readable(run: Run) -> Iterator[None]:
    """Records of another shape than ours are the user's to know about, not a crash."""
    if run.verdicts.exists() and not run.results.exists():
        raise RunError(f"{run.results}: missing, so that nothing can be judged or reported again; {run.verdicts} stays as it was")
    try:
        yield
    except (TypeError, KeyError, AttributeError) as error:
        raise RunError(f"{run.path}: a line there is no record of fleetcheck {__version__} ({error}); "
                       "was it written by another version?") from error


def report_again(run: Run, everything: bool = False, page: bool = False) -> list[Line]:
    """Write the JUnit files anew, and report.html where a page is asked for or lies there; the terminal's page of a judged run."""
    with _readable(run):
        verdicts, nodes = run.conclusions(), selected(run, run.inventory())
        unmeasured = [each.slim() for each in run.judged() if each.outcome == "error"]
        comparison = earlier.compared(run, verdicts, run.judged())
        junit.write(run.path, verdicts, run.by_node(), nodes)
    written = page or (run.path / html.NAME).exists()
    if written:
        html.write(run, verdicts, nodes, comparison, near(run.path), str(near(_origin(run))))
    return terminal.page(verdicts, unmeasured, nodes, near(run.path), str(near(_origin(run))), everything, comparison, written)


def selected(run: Run, kept: Inventory) -> tuple[Node, ...]:
    """The nodes the run was asked for, those out of service too."""
    return inventories.select(kept, run.facts.get("nodes", ""), run.facts.get("group", ""))


def failures(evidence: Iterable[Evidence]) -> dict[str, Failure]:
    """By node, why a probe of it brought no answer; the fast facts' reason before any other, the last try only."""
    last: dict[str, dict[str, Failure | None]] = {}
    for each in evidence:
        last.setdefault(each.node, {})[each.probe] = each.failure
    return {node: failure for node, probes in last.items() if (failure := _decisive(probes))}


def _decisive(probes: Mapping[str, Failure | None]) -> Failure | None:
    return probes.get("facts-fast") or next((failure for failure in probes.values() if failure), None)


def _origin(run: Run) -> Path:
    """Where the inventory came from; the copy in the run when that place is gone."""
    path = Path(run.facts.get("inventory_path", ""))
    return path if path.is_file() else run.path / "inventory" / str(run.facts.get("inventory", ""))


def near(path: Path) -> Path:
    """The path as typed from here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path
