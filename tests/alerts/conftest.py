"""A fleet of twelve nodes whose nights are made, and a receiver."""

import datetime
import io

import madefleet
import pytest
from receiver import receiving

from fleetcheck.alerts import command
from fleetcheck.records import Evidence, Failure

LOSS = ("test_no_gpu_is_lost", "checks/node/test_gpu.py", "gpu", "No GPU is lost.")
HEAT = ("test_no_gpu_is_too_hot", "checks/node/test_thermal.py", "thermal", "No GPU is too hot.")
NODES = [f"n{number:02}" for number in range(1, 13)]


def silence(run, name, kind):
    """Nobody could log in to a node."""
    failure = Failure(kind, f"{name}: TCP to 192.0.2.1 port 22: {kind}; power it on")
    return Evidence(run=run, stage="facts", probe="facts-fast", node=name, started="", seconds=1.0, failure=failure)


class Site:
    """night() records a run; tell() is ``fleetcheck alert`` at seven in the morning after a night."""

    def __init__(self, folder, url):
        self.folder, self.url, self.extra, self.state = folder, url, "", ""
        (folder / "key").write_text("hush-hush\n")
        (folder / "key").chmod(0o600)

    def inventory(self, receivers=None):
        given = receivers or f"alertmanager: {{urls: {self.url}}}, webhook: {{url: '{self.url}/hook', secret_file: {self.folder}/key}}"
        path = self.folder / "fleet.yaml"
        path.write_text(f"fleet: made\ndefaults: {{profile: h100-sxm5-8}}\nnodes:\n  n[01-12]: {{}}\n{self.state}alerts: {{{given}{self.extra}}}\n")
        return path

    def night(self, day, failed=(), hot=(), unmeasured=(), silent=(), kind="refused", names=NODES, nodes="", tier="quick", racks=False, **about):
        run = f"202611{day:02}-031500-{tier[:2]}aa"
        outcome = {**dict.fromkeys(unmeasured, "error"), **dict.fromkeys(failed, "failed")}
        results = []
        evidence = [silence(run, name, kind) for name in silent]
        for name in names:
            if name in silent:
                results += [madefleet.result(run, check, name, "error", message=f"{name}: TCP to 192.0.2.1 port 22: {kind}") for check in (LOSS, HEAT)]
                continue
            results.append(madefleet.result(run, LOSS, name, outcome.get(name, "passed"), "fatal", "reboot", message=f"{name}: GPU 5: GPU_IS_LOST" * (name in outcome)))
            results.append(madefleet.result(run, HEAT, name, "failed" if name in hot else "passed", "degraded", "isolate", message=f"{name}: GPU 1: 95 °C" * (name in hot)))
        text = madefleet.inventory_text(12, racks)
        return madefleet.record(self.folder, run, results, evidence, text, tier=tier, nodes=nodes, began=f"2026-11-{day:02}T03:15:00+00:00", **about)

    def tell(self, day, hour=7, apply=True, inventory=None):
        screen = io.StringIO()
        code = command.run(inventory or self.inventory(), self.folder / "reports", apply, screen, datetime.datetime(2026, 11, day, hour, tzinfo=datetime.UTC))
        return code, screen.getvalue()

    def standing(self, day, **words):
        """The alerts that stand, as severity name node."""
        return [" ".join(line.split()[:3]) for line in self.tell(day, apply=False, **words)[1].splitlines() if line.startswith(("PAGE", "TICKET"))]


@pytest.fixture
def receiver():
    with receiving() as found:
        yield found


@pytest.fixture
def site(tmp_path, receiver):
    return Site(tmp_path, receiver.url)
