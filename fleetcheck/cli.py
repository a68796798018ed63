"""The ``fleetcheck`` command: a run after pytest has ended, and the simulated fleet. Runs on the controller."""

from __future__ import annotations

import datetime
import functools
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from fleetcheck import __version__, checkbook, doctor, exitcode, explain, history_page, prune, rejudge, rma, sandbox, shards
from fleetcheck.alerts import command as alerts
from fleetcheck.burnin import commands as burnin
from fleetcheck.collective.nccl_tests import PROGRAMS
from fleetcheck.imports import command as imports
from fleetcheck.inventory import InventoryError, load, select
from fleetcheck.isolation import command as isolation
from fleetcheck.report import terminal
from fleetcheck.run import Run, RunError, find
from fleetcheck.shard_runs import ShardRuns

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False,
                  help="What is done with a run after pytest checks/ --inventory X has ended.")

RunName = Annotated[str, typer.Argument(metavar="RUN", help="a run's id, its path, or latest")]
Reports = Annotated[Path, typer.Option("--reports", metavar="DIR", help="where runs are kept")]
SandboxFile = Annotated[Path, typer.Argument(metavar="INVENTORY", help="one with a sandbox: section")]
All = Annotated[bool, typer.Option("--all", help="leave nothing out for length")]


BackendName = Annotated[str, typer.Option("--backend", metavar="BACKEND", help="slurm, kubernetes, webhook or file")]
Apply = Annotated[bool, typer.Option("--apply", help="do it; without, only show what would change")]


CLICKS_USAGE, CLICKS_INTERRUPTED = 2, 130


class Done(SystemExit):
    """The end of a command with a code of our own, told apart from typer's 2 for usage."""


@app.command()
def judge(
    run: RunName, reports: Reports = Path("reports"), everything: All = False,
    metrics_dir: Annotated[str, typer.Option("--metrics-dir", metavar="DIR", help="write the fleet's metrics there too")] = "",
) -> None:
    """Judge a run again from its plan, evidence and results; the exit code is that of the run."""
    chosen = find(reports, run)
    verdicts = rejudge.judge_again(chosen, metrics_dir)
    _show(chosen, everything)
    raise Done(exitcode.exit_code(verdicts, chosen.judged()))


@app.command()
def report(
    run: RunName, reports: Reports = Path("reports"), everything: All = False,
    html: Annotated[bool, typer.Option("--html", help="write report.html too, where the run has none yet")] = False,
) -> None:
    """Write a judged run's reports again and print its page: JUnit files, and report.html where there was one."""
    _show(find(reports, run), everything, html)


@app.command("shards", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def run_shards(
    words: typer.Context,
    number: Annotated[int, typer.Argument(metavar="N", min=1, max=shards.MOST, help="how many parts")],
    at_once: Annotated[int, typer.Option("--at-once", metavar="N", min=0, help="parts at a time; 0: one for each processor")] = 0,
) -> None:
    """Run a big fleet in N parts on this machine, then join them: fleetcheck shards 16 checks/ --inventory fleet.yaml -n 64."""
    ours = [word for word in words.args if word.partition("=")[0] in ("--shard", "--merge", "--replay")]
    if ours:
        raise typer.BadParameter(f"{ours[0]} is not for fleetcheck shards, which gives --shard and --merge itself")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    raise Done(ShardRuns(number, at_once or os.cpu_count() or 1, words.args, sys.stdout).go())


@app.command("sandbox")
def simulate(inventory: SandboxFile) -> None:
    """Keep a simulated fleet running until Ctrl-C, to look around in it with ssh."""
    loaded = load(inventory)
    if loaded.sandbox is None:
        raise sandbox.SandboxError(f"{inventory}: no sandbox: section; docs/sandbox.md shows one")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with sandbox.start(loaded) as running:
        config = running.directory / "ssh_config"
        typer.echo(f"{len(running.inventory.nodes)} nodes; Ctrl-C ends them")
        for node in running.inventory.nodes:
            typer.echo(f"  ssh -F {config} {node.name}")
        _until_interrupted()


@app.command("explain")
def explain_check(
    check: Annotated[str, typer.Argument(metavar="[CHECK]", help="its name; without one, all are listed")] = "",
    checks: Annotated[Path | None, typer.Option(metavar="DIR", help="the folder of checks, when not the shipped one")] = None,
    write: Annotated[Path | None, typer.Option(metavar="FILE", help="write the page of all checks there")] = None,
) -> None:
    """Say what a check is for, what it reads with which privilege, by which limits, and what to do."""
    root = checks or checkbook.shipped_checks()
    if not any(checkbook.read(root)):
        raise explain.UnknownCheck(f"{root}: no check in it; expected a folder with test_*.py files, as checks/")
    if write:
        write.write_text(explain.as_page(explain.explanations(root)), encoding="utf-8")
    elif check:
        typer.echo(explain.as_text(explain.explanation(check, root)))
    else:
        typer.echo("\n".join(f"{entry.name}: {entry.statement}" for entry in checkbook.read(root)))


@app.command("doctor")
def examine(
    inventory: Annotated[Path, typer.Option(metavar="FILE", help="the fleet")],
    nodes: Annotated[str, typer.Option(metavar="NODESET", help="only these nodes")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="for programs")] = False,
) -> None:
    """Show what can be read on each node, and the fix for what cannot; exit code 0 when everything can."""
    loaded = load(inventory)
    found = doctor.examine(loaded, select(loaded, nodes))
    if as_json:
        typer.echo(json.dumps(doctor.as_json(loaded.fleet, found), indent=1))
    else:
        doctor.show(found, sys.stdout)
    raise Done(0 if found and all(each.ok for each in found) else 1)


@app.command("cross-check")
def cross_check_collectives(
    inventory: Annotated[Path, typer.Argument(metavar="INVENTORY", help="the fleet")],
    nodes: Annotated[str, typer.Option(metavar="NODESET", help="on these nodes, at least two of them")],
    op: Annotated[str, typer.Option(metavar="OP", help=f"one of {', '.join(PROGRAMS)}")] = "all_reduce",
    most_bytes: Annotated[int, typer.Option(metavar="N", min=1 << 20, max=8 << 30, help="the largest message")] = 256 << 20,
) -> None:
    """Measure a collective with our ranks, then with nccl-tests, and compare; exit code 0 when both agree. Loads the nodes."""
    from fleetcheck.collective import cross_check

    if op not in PROGRAMS:
        raise typer.BadParameter(f"{op!r}; expected one of {', '.join(PROGRAMS)}", param_hint="--op")
    loaded = load(inventory)
    both = cross_check.cross_check(loaded, select(loaded, nodes), op, most_bytes)
    cross_check.show(both, sys.stdout)
    raise Done({"passed": exitcode.PASSED, "failed": exitcode.FINDING}.get(both.said.outcome, exitcode.UNMEASURED))


@app.command("plan")
def plan_loads(
    inventory: Annotated[Path, typer.Argument(metavar="INVENTORY", help="the fleet")],
    tier: Annotated[str, typer.Option(metavar="TIER", help="full, burnin or acceptance")] = "burnin",
    duration: Annotated[str, typer.Option(metavar="TIME", help="how long each node is loaded: 4h, 90min")] = "",
    until: Annotated[str, typer.Option(metavar="HH:MM", help="all loads have ended by then, in local time")] = "",
    max_loaded: Annotated[int | None, typer.Option(metavar="N", min=1, help="nodes under load at once")] = None,
    nodes: Annotated[str, typer.Option(metavar="NODESET", help="only these nodes")] = "",
    group: Annotated[str, typer.Option(metavar="GROUP", help="only the nodes of this group")] = "",
    pairs: Annotated[str, typer.Option(metavar="quick|full", help="which nodes are tried with each other")] = "",
) -> None:
    """Say what loading a fleet will take: nodes, power by rack beside its budget, time, energy. Nobody is contacted."""
    burnin.show_forecast(load(inventory), sys.stdout, nodes=nodes, group=group, tier=tier, duration=duration, until=until,
                         max_loaded=max_loaded, pairs=pairs)


@app.command("watch")
def watch_loads(
    run: RunName = "latest", reports: Reports = Path("reports"),
    once: Annotated[bool, typer.Option("--once", help="show how it stands now, and end")] = False,
) -> None:
    """Show the loads of a run while it goes on, or as they ended."""
    burnin.watch(burnin.running(reports, run), sys.stdout, once)


@app.command("prune")
def prune_runs(
    reports: Reports = Path("reports"),
    apply: Annotated[bool, typer.Option("--apply", help="remove it; without, only say what would be")] = False,
    evidence_days: Annotated[int, typer.Option(metavar="N", min=1, help="keep what nodes answered")] = prune.EVIDENCE_DAYS,
    measurements_days: Annotated[int, typer.Option(metavar="N", min=1, help="keep whole runs")] = prune.MEASUREMENTS_DAYS,
) -> None:
    """Remove old runs: evidence after 30 days, the rest after 400; never a fleet's latest complete run."""
    found = prune.old(reports, datetime.datetime.now(datetime.UTC), evidence_days, measurements_days)
    for each in found:
        typer.echo(f"{each.run.id}: {each.what}, {each.days} days old, {each.bytes / 1e6:.1f} MB{'' if apply else ' (would go)'}")
        if apply:
            each.remove()
    typer.echo(f"{'removed' if apply else 'would remove'} {len(found)}{'' if apply or not found else '; --apply does it'}")


@app.command("history")
def show_history(
    what: Annotated[str, typer.Argument(metavar="[NODE|SERIAL|CHECK]", help="without one: repeat offenders, suspects, failures")] = "",
    reports: Reports = Path("reports"), everything: All = False,
) -> None:
    """Say what earlier runs measured: findings, drift of a part against its own past, what stood where."""
    history_page.show(reports, what, sys.stdout, everything)


@app.command("rma")
def bundle_for_vendor(
    node: Annotated[str, typer.Argument(metavar="NODE", help="the node whose part goes back")],
    reports: Reports = Path("reports"),
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="the archive; without it, rma-NODE.tar.gz here")] = None,
) -> None:
    """Bundle serials, slot, failing evidence and history of a node for its vendor, without secrets."""
    typer.echo(rma.bundle(reports, node, output or Path(f"rma-{node.replace('/', '_')}.tar.gz")))


@app.command("isolate")
def isolate_nodes(run: RunName, backend: BackendName, apply: Apply = False, reports: Reports = Path("reports")) -> None:
    """Take the nodes that a complete run found faulty out of service, behind guards; what runs there runs on."""
    raise Done(isolation.isolate(isolation.Asked(find(reports, run), backend, apply, typer.echo)))


@app.command("release")
def release_nodes(run: RunName, backend: BackendName, apply: Apply = False, reports: Reports = Path("reports")) -> None:
    """Give back nodes that fleetcheck isolated and that this later run certified; anybody else's drain stays."""
    raise Done(isolation.release(isolation.Asked(find(reports, run), backend, apply, typer.echo)))


@app.command("alert")
def alert_people(
    inventory: Annotated[Path, typer.Argument(metavar="INVENTORY", help="the fleet; its alerts: says whom to tell")],
    reports: Reports = Path("reports"),
    apply: Annotated[bool, typer.Option("--apply", help="tell them; without, only show what stands")] = False,
) -> None:
    """Tell Alertmanager and a webhook how the fleet stands, and what has ended; exit code 1 when one of them did not take it."""
    raise Done(alerts.run(inventory, reports, apply, sys.stdout))


@app.command("import")
def import_inventory(
    tool: Annotated[str, typer.Argument(metavar="ansible|slurm", help="whose files they are")],
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Ansible's inventory; slurm.conf, topology.conf, scontrol's text")],
    profile: Annotated[str, typer.Option(metavar="NAME", help="what hardware the nodes are; Slurm's Gres may tell")] = "",
    fleet: Annotated[str, typer.Option(metavar="NAME", help="the fleet's name; else the cluster's, or the file's")] = "",
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="a new file; without one, the screen")] = None,
) -> None:
    """Make an inventory of another tool's files; what cannot be mapped is said in it, and on standard error."""
    imports.run(tool, files, output, sys.stdout, sys.stderr, fleet, profile)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"fleetcheck {__version__}")


def _show(run: Run, everything: bool, html: bool = False) -> None:
    terminal.show(rejudge.report_again(run, everything, html), sys.stdout)


def _until_interrupted() -> None:
    try:
        signal.pause()
    except KeyboardInterrupt:
        typer.echo("ended")


def main() -> None:
    """Run the command; a user's mistake is one line and exit code 4, as in a fleet run."""
    try:
        _open_streams()
        code = _code()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _said("interrupted", exitcode.INTERRUPTED)
    except BrokenPipeError:
        code = exitcode.PASSED  # whoever read has read enough
        _to_nowhere()
    except OSError as refused:
        code = _said(f"{refused.filename or 'standard output'}: {refused.strerror or refused}", exitcode.INTERNAL)
        _to_nowhere()
    raise SystemExit(code)


def _code() -> int | str | None:
    try:
        app()
    except Done as done:
        return done.code
    except SystemExit as end:
        if end.code == CLICKS_INTERRUPTED:
            raise KeyboardInterrupt from None
        return exitcode.USAGE if end.code == CLICKS_USAGE else end.code
    except (InventoryError, RunError, sandbox.SandboxError, explain.UnknownCheck) as mistake:
        return _said(str(mistake), exitcode.USAGE)
    return exitcode.PASSED


def _said(words: str, code: int) -> int:
    sys.stderr.write(f"fleetcheck: {words}\n")
    return code


def _open_streams() -> None:
    """Something to write to where a caller closed it; an ASCII terminal shows \\u2192 for an arrow, and no traceback."""
    nowhere = functools.partial(Path(os.devnull).open, "w")  # open as long as the process
    sys.stdout, sys.stderr = (each or nowhere() for each in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _to_nowhere() -> None:
    """What is still buffered would be refused again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


if __name__ == "__main__":
    main()
