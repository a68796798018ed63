"""365 nights of 1,000 nodes, 20 numbers and 20 outcomes each: how long the history takes to answer; figures, no limit."""

import io
import time

import pytest

from fleetcheck import history_page
from fleetcheck.measured import Row
from fleetcheck.measurements import FILE, connect

NIGHTS, NODES, METRICS = 365, 1000, 20
_FACTS = f"""
CREATE TABLE night AS
SELECT 'n' || lpad(node::VARCHAR, 4, '0') AS node, 'h100' AS profile, 'SN' || node AS machine, 'gpu' AS part_kind, 'GPU ' || (k % 8) AS part,
       '0000:' || (k % 8) || 'b:00.0' AS slot, '1650' || (node * 8 + k % 8) AS serial, 'gpu' AS component, 'test_' || k AS "check",
       CASE WHEN outcome THEN '' ELSE 'gemm.metric_' || k END AS metric, CASE WHEN outcome THEN NULL ELSE 100 + hash(node * 31 + k) % 1000 / 500 END AS value,
       'TFLOP/s' AS unit, 95.0 AS low, NULL::DOUBLE AS high, 'datasheet' AS source, 'passed' AS outcome, 'degraded' AS severity, 'isolate' AS action,
       '' AS message, 'boot' AS boot_id
FROM range({NODES}) n(node), range({METRICS}) m(k), (VALUES (true), (false)) o(outcome) ORDER BY 1, 9, 10
"""


@pytest.fixture(scope="module")
def year(tmp_path_factory):
    """A year of nights; about one node in five hundred fails one check a night."""
    reports = tmp_path_factory.mktemp("year")
    with connect() as database:
        database.execute(_FACTS)
        columns = ", ".join(f'"{name}"' for name in Row._fields)
        for night in range(NIGHTS):
            run = reports / f"{20250000 + (1 + night // 28) * 100 + 1 + night % 28}-020000-ab12"
            run.mkdir()
            database.execute(f"""COPY (
                SELECT '{run.name}' AS run, TIMESTAMP '2026-11-30 02:00:00' - to_days({NIGHTS - 1 - night}) AS started, 'quick' AS tier, true AS complete,
                       'f' AS fleet, {columns.replace('"value"', f'value * (1 + (hash(serial) + {night}) % 100 / 10000) AS value').replace(
                       '"outcome"', f"CASE WHEN hash(node, 'x{night}') % 500 = 0 AND value IS NULL AND part = 'GPU 3' THEN 'failed' ELSE outcome END AS outcome")}
                FROM night) TO '{run / FILE}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480)""")
    return reports


@pytest.mark.parametrize("what", ["n0500", "16504003", "test_3", ""])
def test_a_year_of_a_thousand_nodes(year, what):
    stream = io.StringIO()
    began, used = time.perf_counter(), time.process_time()
    history_page.show(year, what, stream)
    taken, used = time.perf_counter() - began, time.process_time() - used
    size = sum(path.stat().st_size for path in year.rglob(FILE)) / 1e6
    print(f"\nhistory {what or '(fleet)'}: {taken:.2f} s, {used:.2f} s of CPU; {NIGHTS} nights x {NODES} nodes, "
          f"{NIGHTS * NODES * METRICS * 2 / 1e6:.1f} million rows, {size:.0f} MB")
    assert "damaged" not in stream.getvalue() and (what or "test_3") in stream.getvalue()
