"""The pytest side of a fleet run: options, items per node, fixtures from facts, outcomes, exit code. Runs on the controller.

Without --inventory, --replay or --resume this plugin does nothing to a pytest session, except to refuse to run checks.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

from fleetcheck import checkbook, outcome, plan, policy
from fleetcheck.facts.registry import FACTS, Fact
from fleetcheck.fleet import Fleet, Settings, open_fleet
from fleetcheck.inventory import InventoryError, Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Recording, recorded
from fleetcheck.records import Planned
from fleetcheck.run import RunError
from fleetcheck.sandbox.errors import SandboxError

FLEET = pytest.StashKey[Fleet]()
PLANNED = pytest.StashKey[Planned]()
ENDED = pytest.StashKey[outcome.Said]()
RECORDING = pytest.StashKey[Recording]()
INTERRUPTED = pytest.StashKey[bool]()
MISTAKES = (InventoryError, RunError, SandboxError, plan.CheckError)
DEFAULT_CONNECTIONS = 32


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of a fleet run."""
    group = parser.getgroup("fleetcheck", "fleetcheck: check a fleet of GPU nodes")
    group.addoption("--inventory", metavar="FILE", default="", help="the fleet; with it, -n N is N connections in flight (default 32)")
    group.addoption("--nodes", metavar="NODESET", default="", help="only these nodes: 'rack12-n[01-08],!rack12-n03'")
    group.addoption("--group", metavar="GROUP", default="", help="only the nodes of this group of the inventory")
    group.addoption("--tier", choices=plan.TIERS, default="quick", help="which checks are required for certification (default: quick)")
    group.addoption("--replay", metavar="RUN", default="", help="judge a recorded run again: an id, a path or 'latest'; no node is contacted")
    group.addoption("--resume", metavar="RUN", default="", help="go on with an unfinished run, gathering only what is missing")
    group.addoption("--reports", metavar="DIR", default="reports", help="where runs are kept (default: ./reports)")


def fleet_of(config: pytest.Config) -> Fleet | None:
    """The fleet run of this session, if it is one."""
    return config.stash.get(FLEET, None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, int | None, int | None]:
    """A fleet run takes -n over from xdist, keeps library warnings out of verdicts, and answers with its own exit code."""
    settings = _settings(config)
    if not settings.fleet or config.option.help or config.option.version:
        return (yield)
    _take_over(config)
    try:
        config.stash[FLEET] = open_fleet(settings)
    except MISTAKES as mistake:
        raise pytest.UsageError(str(mistake)) from mistake
    code = yield
    fleet = config.stash[FLEET]
    fleet.close()
    judged = fleet.verdicts is not None and code in (0, 1, 2)
    return fleet.exit_code(interrupted=code == 2) if judged else code


def _settings(config: pytest.Config) -> Settings:
    option = config.option
    connections = getattr(option, "numprocesses", None)
    if option.replay and option.resume:
        raise pytest.UsageError("give either --replay or --resume, not both")
    return Settings(
        inventory=option.inventory, nodes=option.nodes, group=option.group, tier=option.tier, replay=option.replay, resume=option.resume,
        reports=Path(option.reports), connections=connections if isinstance(connections, int) and connections > 0 else DEFAULT_CONNECTIONS,
    )


def _take_over(config: pytest.Config) -> None:
    """Threads instead of xdist workers; no tracebacks or short summaries unless asked for; warnings stay warnings."""
    config.option.numprocesses, config.option.dist, config.option.tx = 0, "no", []
    if config.option.tbstyle == "auto":
        config.option.tbstyle = "no"
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
        + "|".join(("none", "observe", "fix-config", "restart-service", "reset-gpu", "reboot", "isolate", "replace")),
    )
    config.pluginmanager.register(_fact_fixtures(FACTS), "fleetcheck.facts")


def _fact_fixtures(facts: Sequence[Fact]) -> object:
    """A plugin object with a fixture per fact."""
    return type("FactFixtures", (), {fact.name: staticmethod(_fixture(fact)) for fact in facts})()


def _fixture(fact: Fact) -> Callable[..., Any]:
    @pytest.fixture(name=fact.name)
    def build(node: Node, request: pytest.FixtureRequest) -> Any:
        return request.config.stash[FLEET].fact(node, fact)

    build.__doc__ = f"{fact.collector} of one node, from {fact.probe}."
    return build


@pytest.fixture
def node(request: pytest.FixtureRequest) -> Node:
    """The node under check."""
    raise pytest.UsageError(f"{request.node.nodeid}: only functions marked @pytest.mark.check run once per node")


@pytest.fixture
def profile(node: Node, request: pytest.FixtureRequest) -> Profile:
    """What is expected of the node under check."""
    return request.config.stash[FLEET].inventory.profiles[node.profile]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One item per node for every check that asks for a node or one of its facts."""
    fleet = fleet_of(metafunc.config)
    if fleet is None or "node" not in metafunc.fixturenames:
        return
    if metafunc.definition.get_closest_marker("check"):
        metafunc.parametrize("node", fleet.nodes, ids=[node.name for node in fleet.nodes])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Node by node, so that one node's evidence is at hand at a time; checks of other tiers go."""
    fleet = fleet_of(config)
    if fleet is None:
        if any(item.get_closest_marker("check") for item in items):
            raise pytest.UsageError("checks need a fleet: pytest checks/ --inventory FILE (try inventories/sandbox.yaml)")
        return
    order = {node.name: place for place, node in enumerate(fleet.nodes)}
    items.sort(key=lambda item: order.get(_node_name(item), len(order)))
    other = [item for item in items if fleet.settings.tier not in _mark(item).tiers] if items else []
    if other:
        config.hook.pytest_deselected(items=other)
        dropped = set(other)
        items[:] = [item for item in items if item not in dropped]


def _node_name(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    node = callspec.params.get("node") if callspec else None
    return node.name if isinstance(node, Node) else ""


def _mark(item: pytest.Item) -> plan.CheckMark:
    marker = item.get_closest_marker("check")
    if marker is None:
        raise pytest.UsageError(f"{item.nodeid}: not marked @pytest.mark.check, so a fleet run cannot judge it")
    try:
        return plan.mark(item.nodeid, marker.kwargs)
    except plan.CheckError as mistake:
        raise pytest.UsageError(str(mistake)) from mistake


def pytest_report_header(config: pytest.Config) -> list[str]:
    """What was chosen."""
    fleet = fleet_of(config)
    if fleet is None:
        return []
    away = len(fleet.selected) - len(fleet.nodes)
    how = f"replaying {fleet.earlier.id}" if fleet.settings.replay and fleet.earlier else f"{fleet.settings.connections} connections in flight"
    expired = [f"fleetcheck: {sentence}" for sentence in fleet.inventory.expired()]
    return [*expired, f"fleetcheck: {fleet.inventory.fleet} ({fleet.inventory.path}), {len(fleet.nodes)} nodes, {away} out of service, tier {fleet.settings.tier}, {how}"]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Plan, then start gathering; nothing is contacted for --collect-only."""
    fleet = fleet_of(session.config)
    if fleet is None or session.config.option.collectonly or not session.items:
        return
    _refuse_unknown_checks(session, fleet)
    try:
        run_id = fleet.place()
    except MISTAKES as mistake:
        raise pytest.UsageError(str(mistake)) from mistake
    planned = [_plan(item, fleet, run_id) for item in session.items]
    twice = plan.duplicates((each.check, each.nodeid.partition("::")[0]) for each in planned)
    if twice:
        raise pytest.UsageError(f"two checks share a name: {'; '.join(twice)}")
    asked = [item for item, each in zip(session.items, planned, strict=True) if not each.waived]
    try:
        fleet.begin(planned, _collectors(asked), _narrowed(session), _screen(session.config))
    except MISTAKES as mistake:
        raise pytest.UsageError(str(mistake)) from mistake
    for item in session.items:
        item.stash[PLANNED] = fleet.planned[item.nodeid]


def _plan(item: pytest.Item, fleet: Fleet, run_id: str) -> Planned:
    mark, name = _mark(item), getattr(item, "originalname", item.name)
    owner = _node_name(item)
    word = plan.policy(fleet.inventory, fleet.by_name.get(owner), name)
    return Planned(
        run=run_id, stage=plan.stage(item.nodeid), check=name, node=owner, nodeid=item.nodeid, component=mark.component,
        severity=word.severity or mark.severity, action=word.action or mark.action, probes=tuple(plan.probes(_fixtures(item))), needs=mark.needs,
        policy=word.given(),
    )


def _refuse_unknown_checks(session: pytest.Session, fleet: Fleet) -> None:
    """A policy for a check that does not exist is misspelt. The check files tell every name, narrowed run or not."""
    said = plan.policed(fleet.inventory)
    if not said:
        return
    collected = {getattr(item, "originalname", item.name) for item in session.items}
    roots = {_checks_root(item.path) for item in session.items}
    mistake = policy.unknown(said, collected if collected.issuperset(said) else collected | checkbook.names(roots))
    if mistake:
        raise pytest.UsageError(mistake)


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


def _collectors(items: Sequence[pytest.Item]) -> dict[str, dict[str, set[str]]]:
    """{node: {probe: collectors}} of all items that have a node."""
    needed: dict[str, dict[str, set[str]]] = {}
    known: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}
    for item in items:
        fixtures = tuple(_fixtures(item))
        if fixtures not in known:
            known[fixtures] = plan.probes(fixtures)
        for probe, collectors in known[fixtures].items():
            needed.setdefault(_node_name(item), {}).setdefault(probe, set()).update(collectors)
    return needed


def _narrowed(session: pytest.Session) -> str:
    option = vars(session.config.option)
    roots = {_checks_root(item.path) for item in session.items}
    paths = [argument for argument in session.config.args if not _covers(argument, session.config, roots)]
    return plan.narrowed(option, paths)


def _checks_root(path: Path) -> Path:
    """The folder that holds all checks: the outermost ``checks`` above a file, or its own folder."""
    return next((parent for parent in reversed(path.parents) if parent.name == "checks"), path.parent)


def _covers(argument: str, config: pytest.Config, roots: set[Path]) -> bool:
    if config.option.pyargs and not Path(argument).exists():
        return argument.endswith(".checks")
    path = (config.invocation_params.dir / argument).resolve()
    return "::" not in argument and path.is_dir() and any(root.resolve().is_relative_to(path) for root in roots)


def _screen(config: pytest.Config) -> Any:
    """Where the live line goes: a terminal, unless the output is verbose or captured."""
    live = sys.__stdout__ is not None and sys.__stdout__.isatty() and config.option.verbose <= 0
    return sys.__stdout__ if live else None


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """pytest's dots and file names give way to the live line, unless -v asks for every item."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if fleet_of(session.config) is not None and reporter is not None:
        reporter.showfspath = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record what the item reads; append its result when it ended."""
    planned = item.stash.get(PLANNED, None)
    if planned is None:
        return (yield)
    fleet = item.config.stash[FLEET]
    with recorded(Recording()) as recording:
        item.stash[RECORDING] = recording
        answer = yield
    end, seconds = item.stash.get(ENDED, outcome.Said("error", RuntimeError("pytest did not report this item"))), item.stash.get(SECONDS, 0.0)
    try:
        fleet.record(outcome.result(planned, end, recording, seconds, fleet.boot_id(planned.node)))
    except RunError as full:
        pytest.exit(str(full), returncode=3)
    return answer


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A waived check is skipped with its reason before any fixture of it is asked."""
    planned = item.stash.get(PLANNED, None)
    if planned is not None and planned.waived:
        pytest.skip(planned.waived)


SECONDS = pytest.StashKey[float]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport | None:
    """An item's phase, told apart as passed, failed, skipped or not measured; no traceback is rendered for nodes."""
    planned = item.stash.get(PLANNED, None)
    if planned is None:
        return None
    error = call.excinfo.value if call.excinfo else None
    if isinstance(error, RunError):
        pytest.exit(str(error), returncode=3)
    this = outcome.said(call.when, error)
    item.stash[ENDED] = outcome.worse(item.stash.get(ENDED, outcome.Said("passed")), this)
    item.stash[SECONDS] = item.stash.get(SECONDS, 0.0) + call.duration
    report = _report(item, call)
    if this.outcome in ("failed", "error"):
        report.outcome = "failed"
        report.longrepr = outcome.message(this, item.stash[RECORDING])
        if this.outcome == "error" and call.when == "call":
            report.when = "setup"  # pytest counts an exception outside the body as an error
    return report


def _report(item: pytest.Item, call: pytest.CallInfo[None]) -> pytest.TestReport:
    """pytest's own report of the phase, without rendering a failure."""
    if call.excinfo is None or isinstance(call.excinfo.value, pytest.skip.Exception):
        return pytest.TestReport.from_item_and_call(item, call)
    quiet = pytest.CallInfo(result=None, excinfo=None, start=call.start, stop=call.stop, duration=call.duration, when=call.when, _ispytest=True)
    return pytest.TestReport.from_item_and_call(item, quiet)


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(report: pytest.TestReport, config: pytest.Config) -> tuple[str, str, str] | None:
    """No letters between the lines of the progress display."""
    if fleet_of(config) is None or report.when == "collect" or config.option.verbose > 0:
        return None
    if report.failed:
        return ("failed" if report.when == "call" else "error"), "", ""
    if report.skipped:
        return "skipped", "", ""
    return ("passed" if report.when == "call" else ""), "", ""


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Kept by sessionfinish through its exit status."""


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """End every connection, judge, and write what people and machines read."""
    fleet = fleet_of(session.config)
    if fleet is None or fleet.run is None:
        return
    fleet.stop_gathering()
    if exitstatus == 3:
        return
    try:
        fleet.finish(interrupted=exitstatus == 2)
        fleet.write_reports()
    except RunError as full:
        pytest.exit(str(full), returncode=3)


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
