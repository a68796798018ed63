"""The pytest side of a fleet run: options, items per node, plan and gathering, exit code. Runs on the controller.

Without --inventory, --replay or --resume this plugin does nothing to a pytest session, except to refuse to run checks.
"""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest

from fleetcheck import checkbook, item_course, options, plan, selection, shards, turns
from fleetcheck.exitcode import INTERNAL, INTERRUPTED, USAGE
from fleetcheck.facts.registry import FACTS
from fleetcheck.fixtures import fixtures
from fleetcheck.fleet import Fleet
from fleetcheck.groups import Group, groups
from fleetcheck.interruption import Interruption
from fleetcheck.inventory import InventoryError
from fleetcheck.opening import open_fleet
from fleetcheck.records import ACTIONS
from fleetcheck.run import RunError
from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.session import FLEET, PLANNED, fleet_of
from fleetcheck.settings import Settings

MISTAKES = (InventoryError, RunError, SandboxError, plan.CheckError)
NO_FLEET = "checks need a fleet: pytest checks/ --inventory FILE (try inventories/sandbox.yaml)"
SIGNALS = pytest.StashKey[Interruption]()
CHOSEN = pytest.StashKey[bool]()
"""That the choice of items came to its end: pytest calls the hook after it when an option of its own was refused, too."""
DESELECTED = pytest.StashKey[int]()
UNREADABLE = pytest.StashKey[bool]()
ELSEWHERE = pytest.StashKey[Mapping[str, set[str]]]()
"""What the checks of several nodes will read of a shard's nodes."""
NAMED = pytest.StashKey[selection.Named]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of a fleet run."""
    options.add(parser)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, int | None, int | None]:
    """A fleet run takes -n over from xdist, keeps library warnings out of verdicts, and answers with its own exit code."""
    settings = options.settings(config)
    if not settings.fleet or config.option.help or config.option.version:
        _refuse_workers(config, settings)
        return (yield)
    _take_over(config)
    try:
        config.stash[FLEET] = open_fleet(settings)
    except MISTAKES as mistake:
        raise pytest.UsageError(str(mistake)) from mistake
    config.stash[SIGNALS] = Interruption()
    code = yield
    return _exit_code(config, code)


def _refuse_workers(config: pytest.Config, settings: Settings) -> None:
    """Without a fleet xdist's workers would be asked to run checks, and their refusal is a crash of the session."""
    if settings.fleet or not config.getoption("numprocesses", None):
        return
    checks = checkbook.shipped_checks().resolve()
    if any(Path(argument.partition("::")[0]).resolve().is_relative_to(checks) for argument in config.args):
        raise pytest.UsageError(NO_FLEET)


def _exit_code(config: pytest.Config, code: int | None) -> int | None:
    fleet = config.stash[FLEET]
    if config.stash.get(UNREADABLE, False) and fleet.run is None:
        return USAGE
    judged = fleet.verdicts is not None and code in (0, 1, INTERRUPTED, pytest.ExitCode.NO_TESTS_COLLECTED)
    return fleet.exit_code(interrupted=code == INTERRUPTED) if judged else code


def _take_over(config: pytest.Config) -> None:
    """Threads instead of xdist workers; no short summaries unless asked for; warnings stay warnings."""
    config.option.numprocesses, config.option.dist, config.option.tx = 0, "no", []
    if config.option.reportchars == "fE":
        config.option.reportchars = ""
    catcher = config.pluginmanager.get_plugin("warnings")
    if catcher is not None:
        config.pluginmanager.unregister(catcher)
    warnings.resetwarnings()
    warnings.simplefilter("ignore")


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker; make one fixture of each fact."""
    config.addinivalue_line(
        "markers",
        "check(component, severity, action, needs='any', tiers=...): a health check; severity warn|degraded|fatal, action "
        + "|".join(ACTIONS),
    )
    config.pluginmanager.register(item_course, "fleetcheck.item_course")
    config.pluginmanager.register(turns, "fleetcheck.turns")
    config.pluginmanager.register(fixtures(config, FACTS), "fleetcheck.facts")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str) -> list[pytest.Item] | None:
    """Of files named with ``::`` only the checks asked for are made into items."""
    stash = collector.config.stash
    if FLEET not in stash or not isinstance(collector, pytest.Module):
        return None
    if NAMED not in stash:
        stash[NAMED] = selection.Named(collector.config)
    return [] if stash[NAMED].leaves_out(collector.path, name) else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item per node for every check that asks for a node or one of its facts, one per group of nodes where it asks for those."""
    fleet, marker = fleet_of(metafunc.config), metafunc.definition.get_closest_marker("check")
    if fleet is None or marker is None:
        return
    what = next((name for name in ("group", "node") if name in metafunc.fixturenames), "")
    if what:
        elsewhere = shards.leaves_out(fleet.settings, plan.stage(metafunc.definition.nodeid), what == "group")
        found = [] if elsewhere else fleet.nodes if what == "node" else _groups(fleet, str(marker.kwargs.get("per", "fleet")))
        metafunc.parametrize(what, found, ids=[each.name for each in found])


def _groups(fleet: Fleet, per: str) -> Sequence[Group]:
    return fleet.pairs if per == "pair" else groups(per, fleet.nodes, fleet.inventory.fleet)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Node by node, so that one node's evidence is at hand at a time; checks of other tiers go."""
    fleet = fleet_of(config)
    if fleet is None:
        if any(item.get_closest_marker("check") for item in items):
            raise pytest.UsageError(NO_FLEET)
        return
    elsewhere = [item for item in items if selection.ownerless(item, fleet)]
    items[:] = [item for item in items if not selection.ownerless(item, fleet)]
    selection.in_order(items, fleet)
    try:
        config.stash[ELSEWHERE] = selection.probes(elsewhere, fleet) if fleet.settings.shard else {}
        other = set(selection.other_tiers(items, fleet))
    except plan.CheckError as mistake:
        raise pytest.UsageError(str(mistake)) from mistake
    if other:
        config.stash[DESELECTED] = config.stash.get(DESELECTED, 0) - len(other)
        config.hook.pytest_deselected(items=list(other))
        items[:] = [item for item in items if item not in other]
    config.stash[CHOSEN] = True


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Whoever deselects checks, by an option known here or not, makes the run partial."""
    if items:
        stash = items[0].config.stash
        stash[DESELECTED] = stash.get(DESELECTED, 0) + len(items)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What was chosen."""
    fleet = fleet_of(config)
    if fleet is None:
        return []
    settings, away = fleet.settings, len(fleet.selected) - len(fleet.nodes)
    how = f"{settings.connections} connections in flight, threads of this process"
    if settings.replay and fleet.earlier:
        how = f"replaying {fleet.earlier.id}"
    expired = [f"fleetcheck: {sentence}" for sentence in fleet.inventory.expired()]
    return [*expired, f"fleetcheck: {fleet.inventory.fleet} ({fleet.inventory.path}), {len(fleet.nodes)} nodes, "
                      f"{away} out of service, tier {settings.tier}, {how}"]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Plan, then start gathering; nothing is contacted for --collect-only, nor when a check file cannot be read."""
    fleet, option = fleet_of(session.config), session.config.option
    if fleet is None or option.collectonly or option.setupplan or CHOSEN not in session.config.stash:
        return
    if session.testsfailed and not option.continue_on_collection_errors:
        session.config.stash[UNREADABLE] = True
        return
    if option.tbstyle == "auto":
        option.tbstyle = "no"  # from here on failures are about nodes, not about code
    if session.items or fleet.settings.merge:
        _begin(session, fleet)
        _without_log_capture(session)
        gc.collect()  # items of the same files that were not selected
        gc.freeze()  # the selected ones live as long as the process: no need to look through them again and again


def _without_log_capture(session: pytest.Session) -> None:
    """A check only asserts: watching the log through each phase of each item, for nobody, is a seventh of a large run's time."""
    config = session.config
    asked = config.option.log_level or config.option.log_file or config.getini("log_level") or config.getini("log_file") or \
        config.getini("log_cli") or config.option.log_cli_level
    plugin = config.pluginmanager.get_plugin("logging-plugin")
    if plugin is not None and not asked and not any("caplog" in getattr(item, "fixturenames", ()) for item in session.items):
        config.pluginmanager.unregister(plugin)


def _begin(session: pytest.Session, fleet: Fleet) -> None:
    try:
        mistake = selection.misspelt(session.items, fleet)
        if mistake:
            raise plan.CheckError(mistake)
        lines = selection.planned(session.items, fleet, fleet.place())
    except MISTAKES as wrong:
        raise pytest.UsageError(str(wrong)) from wrong
    for item, line in zip(session.items, lines, strict=True):
        item.stash[PLANNED] = line
    narrowed = selection.narrowed(session, session.config.stash.get(DESELECTED, 0))
    try:
        needed = selection.collectors(session.items, lines, fleet.nodes, session.config.stash.get(ELSEWHERE, {}))
        fleet.begin(lines, needed, narrowed, _screen(session.config))
    except (InventoryError, SandboxError) as wrong:
        raise pytest.UsageError(str(wrong)) from wrong
    except RunError as refused:
        pytest.exit(str(refused), returncode=INTERNAL)


def _screen(config: pytest.Config) -> TextIO | None:
    """Where the live line goes: a terminal, unless the output is verbose or captured."""
    live = sys.__stdout__ is not None and sys.__stdout__.isatty() and config.option.verbose <= 0
    return sys.__stdout__ if live else None


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """pytest's dots and file names give way to the live line, unless -v asks for every item."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if fleet_of(session.config) is not None and reporter is not None and session.config.option.verbose <= 0:
        reporter.showfspath = False


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End every connection, judge, and write what people and machines read."""
    fleet = fleet_of(session.config)
    if fleet is None or fleet.run is None:
        return
    session.config.stash[SIGNALS].ending()
    fleet.stop_gathering()
    if exitstatus in (INTERNAL, USAGE):
        return
    try:
        fleet.finish(interrupted=exitstatus == INTERRUPTED)
        fleet.write_reports()
    except RunError as full:
        pytest.exit(str(full), returncode=INTERNAL)


@pytest.hookimpl(tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The 3 a.m. page."""
    fleet = fleet_of(config)
    if fleet is not None and fleet.verdicts is not None:
        terminalreporter.ensure_newline()
        terminalreporter.write_line(fleet.summary())


def pytest_unconfigure(config: pytest.Config) -> None:
    """Whatever happened, no thread, connection or sandbox outlives the session."""
    fleet = fleet_of(config)
    if fleet is not None:
        fleet.close()
    if SIGNALS in config.stash:
        config.stash[SIGNALS].restore()
