"""What several areas of the suite share: recorded runs of healthy nodes, and benchmarks only on demand."""

import fcntl
import os

import pytest
from fleetrun import CHECKS, run_pytest

from fleetcheck import checkbook

HEALTHY = """fleet: healthy
defaults: {profile: h100-sxm5-8}
nodes:
  sim-[01-02]: {}
sandbox: {nodes: {}}
"""


def pytest_addoption(parser):
    parser.addoption("--benchmarks", action="store_true", help="run the benchmarks of fleetcheck too; they take minutes")


def pytest_collection_modifyitems(config, items):
    """Benchmarks are deselected, not skipped: nothing is missing on a machine that does not run them."""
    if config.option.benchmarks:
        return
    benchmarks = [item for item in items if "benchmarks" in item.path.parts]
    if benchmarks:
        config.hook.pytest_deselected(items=benchmarks)
        items[:] = [item for item in items if item not in benchmarks]


@pytest.fixture(scope="session")
def healthy_run(tmp_path_factory):
    """The directory of a run of two healthy nodes, sim-01 and sim-02, gathered over SSH; one for all xdist workers."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "healthy-run"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "reports" / "latest").exists():
            (folder / "healthy.yaml").write_text(HEALTHY)
            ended = run_pytest(CHECKS, "--inventory", "healthy.yaml", "-n", "2", "-p", "no:cacheprovider", cwd=folder)
            assert ended.status == 0, ended.output
    return (folder / "reports" / "latest").resolve()


@pytest.fixture(scope="session")
def forty_checks():
    """Node ids of 40 shipped checks of facts, taken evenly from all files."""
    return some_checks(40)


def some_checks(count):
    """Node ids of so many shipped checks of facts, taken evenly from all files."""
    entries = [entry for entry in checkbook.read(CHECKS) if "/burnin/" not in entry.file and "/interconnect/" not in entry.file]
    chosen = [entries[int(number * len(entries) / count)] for number in range(count)]
    return [f"{CHECKS.parent / entry.file}::{entry.name}" for entry in chosen]


@pytest.fixture(scope="session")
def fifteen_checks():
    """As many as the first set of checks had, for which the goal of CPU per node was set."""
    return some_checks(15)
