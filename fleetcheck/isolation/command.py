"""``fleetcheck isolate`` and ``fleetcheck release``: read, plan, show, and with --apply act. Runs on the controller."""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetcheck import exitcode
from fleetcheck.inventory import Inventory
from fleetcheck.isolation import page
from fleetcheck.isolation.act import DO, REFUSE, Plan
from fleetcheck.isolation.age import measured_at, probes_of, spans
from fleetcheck.isolation.audit import Audit, reasons
from fleetcheck.isolation.backends import Site, backend
from fleetcheck.isolation.carry_out import carry_out, failures
from fleetcheck.isolation.guards import Case
from fleetcheck.isolation.isolations import isolations
from fleetcheck.isolation.later import proven
from fleetcheck.isolation.releases import Retest, releases
from fleetcheck.isolation.standing import Backend, BackendError
from fleetcheck.isolation.wish import Wish, wanted
from fleetcheck.run import Run, RunError

Say = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """A judged run, whom to tell, and whether to act. say: takes one line of the page."""

    run: Run
    backend: str
    apply: bool
    say: Say

    @property
    def reports(self) -> Path:
        """The folder of the run."""
        return self.run.path.parent


def isolate(asked: Asked) -> int:
    """Take out of service whom the run names. The exit code: 0 all is as the run wants it, or would be; 1 something was refused or not
    done; 3 the backend did not answer. Raises RunError."""
    return _through(asked, _isolations)


def release(asked: Asked) -> int:
    """Give back those of our nodes that the run proved repaired. Exit code and errors as for isolating."""
    return _through(asked, _releases)


def _through(asked: Asked, planner: Callable[[Asked, Inventory, Backend], Plan]) -> int:
    _refuse_prolog()
    inventory = asked.run.inventory()
    chosen = backend(asked.backend, Site(inventory, _base(asked.run), asked.reports))
    try:
        with _log(asked, inventory) as audit:
            plan = planner(asked, inventory, chosen)
            _say(asked, plan, chosen)
            return _apply(asked, plan, chosen, audit) if audit else _dry(asked, plan, chosen)
    except BackendError as error:
        asked.say(f"backend {asked.backend}: {error}")
        asked.say("nothing was changed")
        return exitcode.INTERNAL


def _log(asked: Asked, inventory: Inventory) -> contextlib.AbstractContextManager[Audit | None]:
    """Held from before the nodes are read, so that two who act at once do not each find room for one more."""
    return Audit(asked.reports, run=asked.run.id, fleet=inventory.fleet, backend=asked.backend) if asked.apply else contextlib.nullcontext()


def _dry(asked: Asked, plan: Plan, chosen: Backend) -> int:
    _print(asked, page.planned(plan, chosen.shown))
    return exitcode.FINDING if plan.decided(REFUSE) else exitcode.PASSED


def _apply(asked: Asked, plan: Plan, chosen: Backend, audit: Audit) -> int:
    done = carry_out(plan, chosen, audit)
    _print(asked, page.applied(plan, done))
    return exitcode.FINDING if failures(done) or plan.decided(REFUSE) else exitcode.PASSED


def _say(asked: Asked, plan: Plan, chosen: Backend) -> None:
    verb = "act" if asked.apply else "dry run"
    asked.say(f"{plan.kind} by run {plan.run}, backend {chosen.name}, {verb}: {len(plan.decided(DO))} of {len(plan.acts)} named")


def _print(asked: Asked, lines: Iterable[str]) -> None:
    for line in lines:
        asked.say(line)


def _isolations(asked: Asked, inventory: Inventory, chosen: Backend) -> Plan:
    verdicts, now = asked.run.conclusions(), datetime.datetime.now(datetime.UTC)
    wishes = wanted(verdicts)
    measured = _measured(asked.run, wishes)
    standings = chosen.read([node.name for node in inventory.nodes]) if wishes else {}
    return isolations(Case(verdicts, inventory.nodes, now, inventory.isolation, standings, measured,
                           proven(asked.run, verdicts, measured)))


def _measured(run: Run, wishes: Sequence[Wish]) -> dict[str, datetime.datetime | None]:
    """By node, when the youngest finding that would do by itself was measured."""
    names = {wish.node for wish in wishes}
    probes, answered = probes_of(run, names), spans(run, names)

    def times(wish: Wish) -> Iterator[datetime.datetime | None]:
        return (measured_at(answered.get(wish.node, {}), probes.get((wish.node, check), ())) for check in wish.checks)

    return {wish.node: max(filter(None, times(wish)), default=None) for wish in wishes}


def _releases(asked: Asked, inventory: Inventory, chosen: Backend) -> Plan:
    standings = chosen.read([node.name for node in inventory.nodes])
    ours = {name for name, standing in standings.items() if standing.mark}
    return releases(Retest(asked.run.conclusions(), datetime.datetime.now(datetime.UTC), inventory.isolation, standings,
                           spans(asked.run, ours), reasons(asked.reports, chosen.name)))


def _base(run: Run) -> Path:
    """The folder of relative paths: where the inventory was."""
    origin = run.facts.get("inventory_path")
    return Path(origin).parent if origin else Path.cwd()


def _refuse_prolog() -> None:
    """Slurm waits for its prolog; a drain from there reaches every node whose job starts while something of ours is wrong."""
    context = os.environ.get("SLURM_SCRIPT_CONTEXT")
    if context:
        raise RunError(f"this runs inside Slurm's {context!r:.40}, where nothing is isolated or released; run it from cron, "
                       "after the checks")
