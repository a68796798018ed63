"""What the end of a run costs at 4,096 nodes, all shipped checks, with and without 20 earlier runs beside it; figures, no limit."""

import json
import os
import resource
import time
from dataclasses import replace

import pytest

from fleetcheck import inventory as inventories
from fleetcheck.conclude import conclude
from fleetcheck.history import History
from fleetcheck.measured import Machine
from fleetcheck.measurements import FILE, Draft, connect
from fleetcheck.recording import Part
from fleetcheck.records import result_of
from fleetcheck.remembered import remembered
from fleetcheck.run import Run

NODES, EARLIER = int(os.environ.get("FLEETCHECK_BENCH_NODES", "4096")), 20
_FAILED = """CASE WHEN "check" = 'test_no_gpu_is_lost' AND metric = '' AND hash(node, {night}) % 500 = 0 THEN 'failed'
                  WHEN "check" = 'test_no_row_remap_is_pending' AND metric = '' AND hash(node) % 300 = 0 THEN 'failed' ELSE outcome END"""
_NIGHT = """
COPY (SELECT * REPLACE ('{run}' AS run, TIMESTAMP '2026-11-01 02:00:00' + to_days({night}) AS started, true AS complete,
                        {failed} AS outcome, CASE WHEN {failed} = 'failed' THEN 'GPU 3' ELSE part END AS part)
      FROM '{base}') TO '{target}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480)"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory, healthy_run):
    """A folder of nights, in which one node in five hundred loses a GPU and one in three hundred has a row remap pending; the inventory."""
    folder = tmp_path_factory.mktemp("nights")
    with connect() as database:
        database.execute(f"""COPY (SELECT r.* REPLACE ('n' || lpad(i::VARCHAR, 4, '0') AS node, r.serial || i AS serial, r.machine || i AS machine, 'big' AS fleet)
                             FROM range({NODES}) t(i), (SELECT * FROM '{healthy_run / FILE}' WHERE node = 'sim-01') r ORDER BY 1, node, "check", metric, part)
                             TO '{folder / "base.parquet"}' (FORMAT parquet)""")
        for night in range(EARLIER):
            run = folder / "reports" / f"202611{night + 1:02d}-020000-ab12"
            run.mkdir(parents=True)
            database.execute(_NIGHT.format(run=run.name, night=night, base=folder / "base.parquet", target=run / FILE, failed=_FAILED.format(night=night)))
    (folder / "fleet.yaml").write_text(f"fleet: big\ndefaults: {{profile: h100-sxm5-8}}\nnodes: {{'n[0000-{NODES - 1:04d}]': }}\n")
    return folder


def results(healthy_run):
    """The results of the recorded node for every node."""
    own = [result_of(line) for line in map(json.loads, (healthy_run / "results.jsonl").read_text().splitlines()) if line["node"] == "sim-01"]
    for number in range(NODES):
        yield from (replace(each, node=f"n{number:04d}") for each in own)


def timed(what, work):
    began, used = time.perf_counter(), time.process_time()
    done = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{what}: {time.perf_counter() - began:.1f} s, {time.process_time() - used:.1f} s of CPU, peak {peak:.0f} MB")
    return done


def test_the_end_of_a_run_beside_twenty_earlier_ones(fleet, healthy_run, tmp_path):
    inventory = inventories.load(fleet / "fleet.yaml")
    machines = {node.name: Machine(node.profile, "", {"GPU 3": Part("gpu", "GPU 3", "0000:61:00.0", f"165{number}")})
                for number, node in enumerate(inventory.nodes)}
    rows = sum(connect().execute(f"SELECT count(*) FROM '{fleet / 'base.parquet'}'").fetchone())
    print(f"\n{NODES} nodes, {EARLIER} earlier runs of {rows / 1e6:.1f} million rows")
    with History(fleet / "reports", before="20261130-020000-ab12") as history:
        past = timed("what earlier runs found", lambda: remembered(history, inventory, machines))
    assert EARLIER == past.runs and past.told
    for what, reports in (("conclude without earlier runs", tmp_path), ("conclude beside them", fleet / "reports")):
        run = Run(reports / "20261130-020000-ab12")
        run.path.mkdir()
        with Draft(run) as draft:
            found = timed(what, lambda run=run, draft=draft: conclude(run, draft, results(healthy_run), machines, inventory.nodes, inventory))
        run.path.rmdir()
    assert EARLIER == found.past.runs
