"""Earlier runs as a database: DuckDB over ``reports/*/measurements.parquet``, queried where they lie. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb

from fleetcheck.measured import Row
from fleetcheck.measurements import FILE, connect, quoted
from fleetcheck.run import RunError, began, runs

WINDOW_DAYS = 28
_COLUMNS = frozenset({"run", "started", "tier", "complete", "fleet", *Row._fields})


@dataclass(frozen=True)
class Answered:
    """Rows of a query, with the names of their columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def __iter__(self) -> Any:
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


@dataclass
class History:
    """The runs of a reports folder. skipped: damaged files, one line each; before: only runs whose id is smaller."""

    reports: Path
    before: str = ""
    days: int = 0
    now: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))
    skipped: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.reports.is_dir():
            raise RunError(f"{self.reports}: no such folder; name the one with the runs: --reports DIR")
        self.files = [path for run in [*runs(self.reports, self.before)][::-1] if (path := run.path / FILE).is_file()
                      and (not self.days or (self.now - began(run)).days < self.days)]
        self._database = connect()
        self._database.execute("SET parquet_metadata_cache = true")

    def __enter__(self) -> History:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._database.close()

    def ask(self, sql: str, told: Mapping[str, Any] | None = None) -> Answered:
        """The answer of a query over the view ``m``; a file that cannot be read is set aside, noted, and the query tried again."""
        while self.files:
            try:
                return self._asked(sql, told, self.files)
            except duckdb.Error as error:
                if not self._set_aside(sql, told):
                    raise RunError(f"history of {self.reports}: {_first(error)}") from error
        return Answered((), ())

    def _asked(self, sql: str, told: Mapping[str, Any] | None, files: Sequence[Path]) -> Answered:
        listed = ", ".join(map(quoted, files))
        self._database.execute(f"CREATE OR REPLACE TEMP VIEW m AS SELECT * FROM read_parquet([{listed}])")
        answer = self._database.execute(sql, dict(told) if told else None)
        return Answered(tuple(column[0] for column in answer.description or ()), tuple(answer.fetchall()))

    def _set_aside(self, sql: str, told: Mapping[str, Any] | None) -> bool:
        """Leave out the files that cannot be read; whether there were some. A query that no file can answer is no file's fault."""
        bad = {path: why for path in self.files if (why := self._damage(path, sql, told))}
        self.skipped += [f"{path}: damaged, left out ({why}); fleetcheck judge {path.parent.name} writes it again"
                         for path, why in bad.items()]
        self.files = [path for path in self.files if path not in bad]
        return bool(bad)

    def _damage(self, path: Path, sql: str, told: Mapping[str, Any] | None) -> str:
        """Why a file alone cannot answer the query; empty when it can, or when the query is at fault."""
        try:
            self._asked("SELECT * FROM m LIMIT 0", None, [path])
            lacking = _COLUMNS - {str(column[0]) for column in self._database.description or ()}
            if lacking:
                return f"no column {min(lacking)}"
            self._asked(sql, told, [path])
        except (duckdb.BinderException, duckdb.ParserException, duckdb.CatalogException):
            return ""
        except duckdb.Error as error:
            return _first(error)
        return ""


def _first(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
