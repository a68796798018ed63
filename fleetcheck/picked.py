"""Chosen fields of a JSON-lines file's records, read by DuckDB: an eighth of what reading whole records costs. Runs on the controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck.measurements import connect, quoted
from fleetcheck.run import chosen_lines

BATCH = 2048
LONGEST_BYTES = 16 << 20
_VIEW = """
CREATE TEMP VIEW lines AS SELECT * FROM read_json({path}, format = 'newline_delimited', ignore_errors = true,
                                                  maximum_object_size = {longest}, columns = {{{fields}}})"""


@dataclass
class Picked:
    """A file of records. fields: the names of those wanted with DuckDB's types, JSON for what a node told; every record has the first one.

    What DuckDB does not take (half a surrogate pair, another shape) is a line without any field; ``refused``: the numbers of those lines.
    """

    path: Path
    fields: Mapping[str, str]
    refused: list[int] = field(default_factory=list)

    def each(self, columns: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Number and these columns of every record in its order, the first field before all; what is refused is noted."""
        for number, row in enumerate(self.ask(f'SELECT "{next(iter(self.fields))}", {columns} FROM lines'), 1):
            if row[0] is None:
                self.refused.append(number)
            else:
                yield number, row

    def ask(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a query over the view ``lines``, in memory a few at a time; none where there is no file."""
        if not self.path.exists():
            return
        fields = ", ".join(f"{quoted(name)}: {quoted(kind)}" for name, kind in self.fields.items())
        with connect() as database:
            database.execute("SET threads = 1")  # two hold twice the memory
            database.execute(_VIEW.format(path=quoted(self.path), longest=LONGEST_BYTES, fields=fields))
            answer = database.execute(sql)
            while rows := answer.fetchmany(BATCH):
                yield from rows

    def others(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The records refused, whole, each with the number of its line. Raises RunError naming the line of one that is damaged."""
        return chosen_lines(self.path, set(self.refused)) if self.refused else iter(())
