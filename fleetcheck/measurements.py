"""``measurements.parquet``: what one run measured, written by DuckDB for the history. Runs on the controller."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from fleetcheck.measured import Row
from fleetcheck.run import Run, RunError, disk

FILE = "measurements.parquet"
NUMBERS = ("value", "low", "high")
SORT_MEMORY = "2GB"
"""The rows of a thousand nodes fit in; more are sorted on disk, beside the run."""
ROW_GROUP = 20_480
"""Rows that are read or passed over as one: a node of a thousand is found without reading the others."""
_TYPES = ", ".join(f"'{name}': '{'DOUBLE' if name in NUMBERS else 'VARCHAR'}'" for name in Row._fields)
_TEXTS = [name for name in Row._fields if name not in NUMBERS]
_COPY = """
COPY (SELECT $run AS run, CAST($started AS TIMESTAMP) AS started, $tier AS tier, CAST($complete AS BOOLEAN) AS complete, $fleet AS fleet, *
      FROM read_csv({source}, header = false, auto_detect = false, delim = ',', quote = '"', escape = '"', nullstr = '',
                    force_not_null = {texts}, columns = {{{types}}})
      ORDER BY node, "check", metric, part)
TO {target} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {group})
"""


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory that loads nothing from elsewhere, with two threads at most: history is read beside a run."""
    return duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False, "threads": 2})


def quoted(text: object) -> str:
    """A text as SQL writes it.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + str(text).replace("'", "''") + "'"


class Draft:
    """The rows of a run while it is being judged; ``keep`` makes them history, leaving without it makes them nothing."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rows = run.path / ".measurements.csv"
        with disk(self._rows):
            self._stream = self._rows.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._stream)

    def __enter__(self) -> Draft:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stream.close()
        self._rows.unlink(missing_ok=True)

    def add(self, rows: Iterable[Row]) -> None:
        """Raises RunError when the disk refuses."""
        with disk(self._rows):
            self._writer.writerows(rows)

    def keep(self, about: Mapping[str, Any], complete: bool) -> Path:
        """Write measurements.parquet, whole or not at all. about: the content of run.json. Raises RunError."""
        target, fresh = self._run.path / FILE, self._run.path / f".{FILE}"
        with disk(self._rows):
            self._stream.close()
        told = {"run": self._run.id, "started": str(about["started"])[:19], "tier": str(about["tier"]), "complete": complete,
                "fleet": str(about["fleet"])}
        try:
            with connect() as database, tempfile.TemporaryDirectory(dir=self._run.path, prefix=".sorting-") as folder:
                database.execute(f"SET memory_limit = '{SORT_MEMORY}'; SET temp_directory = {quoted(folder)}")
                database.execute(_COPY.format(source=quoted(self._rows), target=quoted(fresh), types=_TYPES, texts=_TEXTS,
                                              group=ROW_GROUP), told)
            fresh.chmod(0o640)
            fresh.replace(target)
        except (duckdb.Error, OSError) as error:
            fresh.unlink(missing_ok=True)
            why = str(error).splitlines()[0]
            raise RunError(f"cannot write {target}: {why}; free some space, then fleetcheck judge {self._run.id}") from error
        return target
