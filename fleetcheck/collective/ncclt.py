"""Output of nccl-tests (all_reduce_perf and its like) in every layout in use, and what it says. Runs on the controller; pure.

Layouts differ by version: with or without ``redop`` and ``root``, ``#wrong`` (a count, or N/A) or ``error`` (a float, where 1e-07 is
rounding; ``res`` in the first versions, whose sizes are called ``bytes``), ``#`` at line starts or lost, a tag of the launcher before
each line. Columns are found by the header's names. A program built without MPI and started by a launcher is as many runs of one rank.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field

from fleetcheck.collective import nccl_log
from fleetcheck.collective.reading import Said

_HEADER = re.compile(r"\b(?:size\s+count|bytes\s+N)\s+type\b.*\btime\b.*\bbusbw\b.*")
_ROW = re.compile(r"(?:^|[\s:>])(\d+\s+\d+\s+[a-z]\w+\s+.*)$")
_RANK = re.compile(r"\bRank\s+(\d+)\s.*?\bon\s+(\S+)\s+device\b")
_RANGE = re.compile(r"\bminBytes\s+\d+\s+maxBytes\s+(\d+)\b")
_REDUCED = re.compile(r"Reducing maxBytes to (\d+)\b")
"""Said below the range when the accelerators have no room for the largest size asked for."""
_BOUNDS = re.compile(r"Out of bounds values\s*:\s*(\d+)\s+(OK|FAILED)")
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*([\d.]+(?:e[+-]?\d+)?)")
_FAILURE = re.compile(r"(?:(?P<host>[\w.-]+)(?: pid \d+)?: Test (?:CUDA |NCCL )?failure|(?:^|[\s:>])(?:CUDA|NCCL|Cuda) failure)\s+"
                      r"(?P<said>\S+\.cu.*)", re.MULTILINE)
_BUSY = "busy or unavailable"
_ABSENT = ("N/A", "-", "...")


@dataclass(frozen=True, slots=True)
class Figures:
    """One direction of one size. wrong: elements, None where the program did not look; error: the largest deviation of old layouts."""

    microseconds: float
    busbw_gbytes_per_second: float
    wrong: int | None = None
    error: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One size, out of place first, in place second where it was run."""

    size_bytes: int
    type: str
    figures: tuple[Figures, ...]


@dataclass(frozen=True, slots=True)
class Output:
    """Everything one run printed. out_of_bounds: the summary's count, None without a summary; broken: rows that are none; tables,
    summaries: how many runs began and ended."""

    rows: tuple[Row, ...] = ()
    ranks: tuple[tuple[int, str], ...] = ()
    largest_bytes: int | None = None
    out_of_bounds: int | None = None
    failed: bool = False
    average_gbytes_per_second: float | None = None
    failures: tuple[tuple[str, str], ...] = ()
    broken: tuple[str, ...] = field(default=())
    tables: int = 0
    summaries: int = 0

    @property
    def busbw_gbytes_per_second(self) -> float | None:
        """Bus bandwidth at the largest size, the slower direction: the average over tiny sizes says nothing."""
        if not self.rows:
            return None
        last = max(self.rows, key=lambda row: row.size_bytes)
        return min(each.busbw_gbytes_per_second for each in last.figures)


def parse(text: str) -> Output:
    """The output taken apart; what cannot be read is kept in ``broken``, nothing raises."""
    columns: list[str] = []
    rows, broken, tables = [], [], 0
    for line in text.splitlines():
        header = _HEADER.search(line)
        columns, tables = (header[0].split(), tables + 1) if header else (columns, tables)
        found = None if header or line.lstrip().startswith("#") else _ROW.search(line)
        if found and columns:
            row = _row(found[1].split(), columns)
            rows.append(row) if row else broken.append(line.strip())
    bounds, limits, average = _BOUNDS.findall(text), _REDUCED.search(text) or _RANGE.search(text), _AVERAGE.search(text)
    return Output(
        tuple(rows), tuple((int(rank), host) for rank, host in _RANK.findall(text)), int(limits[1]) if limits else None,
        sum(int(count) for count, _ in bounds) if bounds else None, any(word == "FAILED" for _, word in bounds),
        float(average[1]) if average else None,
        tuple((each["host"] or "the program", each["said"].strip()) for each in _FAILURE.finditer(text)),
        tuple(broken), tables, len(bounds))


def _row(words: list[str], columns: list[str]) -> Row | None:
    """One row by the header's columns; None when it has not one value for each."""
    if len(words) != len(columns):
        return None
    starts = [place for place, name in enumerate(columns) if name == "time"]
    try:
        figures = [_figures(dict(zip(columns[start:], words[start:end], strict=False)))
                   for start, end in zip(starts, [*starts[1:], len(columns)], strict=True)]
        return Row(int(words[0]), words[2], tuple(each for each in figures if each))
    except ValueError:
        return None


def _figures(named: dict[str, str]) -> Figures | None:
    """One direction; None when it was not run, ValueError when a number is none."""
    if named["time"] in _ABSENT:
        return None
    wrong, error = named.get("#wrong", "N/A"), named.get("error", named.get("res", "N/A"))
    return Figures(_number(named["time"]), _number(named["busbw"]), None if wrong in _ABSENT else int(float(wrong)),
                   None if error in _ABSENT else float(error))


def _number(word: str) -> float:
    value = float(word)
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"not a measurement: {word}")
    return value


def judge(output: Output) -> Said:
    """What a run says, before any limit of bandwidth: wrong data outranks all, an unfinished run is not measured, and one rank has no
    bus. A cause of ``data`` blames no node yet: the library may be at fault; run again with another partner and library."""
    for rule in (_busy, _wrong, _named_cause, _broken, _unfinished, _apart, _alone, _unchecked):
        said = rule(output)
        if said:
            return said
    return Said("passed", "none", f"{output.busbw_gbytes_per_second:g} GB/s at {max(row.size_bytes for row in output.rows)} bytes")


def _busy(output: Output) -> Said | None:
    busy = [host for host, said in output.failures if _BUSY in said]
    if not busy:
        return None
    return Said("error", "config", f"GPUs {_BUSY} on {', '.join(dict.fromkeys(busy))}: read compute mode (exclusive process?), other "
                                   "processes and the driver's recovery action before blaming a GPU")


def _wrong(output: Output) -> Said | None:
    wrong = {row.size_bytes: sum(each.wrong or 0 for each in row.figures) for row in output.rows}
    sizes = [f"{count} at {size} bytes" for size, count in wrong.items() if count]
    if not sizes and not output.failed:
        return None
    found = ", ".join(sizes) or f"{output.out_of_bounds} out of bounds by the summary"
    return Said("failed", "data", f"wrong values: {found}; repeat with another version of the library before blaming hardware")


def _named_cause(output: Output) -> Said | None:
    """The cause that a failure names in CUDA's words."""
    for host, said in output.failures:
        cause = nccl_log.cause_of(said)
        if cause:
            return Said("failed" if cause == "gpu" else "error", cause, f"{host}: {said}")
    return None


def _broken(output: Output) -> Said | None:
    if output.failures:
        return Said("error", "run", f"{output.failures[0][0]}: {output.failures[0][1]}")
    if output.broken:
        return Said("error", "output", f"a row that is none: {output.broken[0]!r:.100}")
    return None if output.rows else Said("error", "output", "no row of figures")


def _unfinished(output: Output) -> Said | None:
    if output.summaries < max(output.tables, 1):
        return Said("error", "output", f"no summary line: the run did not end ({output.summaries} of {max(output.tables, 1)})")
    largest = max(row.size_bytes for row in output.rows)
    if output.largest_bytes and largest * 2 <= output.largest_bytes:
        return Said("error", "output", f"ends at {largest} of {output.largest_bytes} bytes")
    return None


def _apart(output: Output) -> Said | None:
    """Several runs of one rank each, where one run of all was asked for: each counts from rank 0."""
    alone = [host for rank, host in output.ranks if rank == 0]
    if len(alone) < 2 or any(rank for rank, _ in output.ranks):
        return None
    return Said("error", "config", f"{len(alone)} runs of one rank each ({', '.join(alone[:4])}), not one run of {len(alone)}: the program "
                                   "was built without MPI; build it with MPI=1")


def _alone(output: Output) -> Said | None:
    return Said("skipped", "none", "one rank: bus bandwidth is 0 by definition") if len(output.ranks) == 1 else None


def _unchecked(output: Output) -> Said | None:
    looked = any(value is not None for row in output.rows for each in row.figures for value in (each.wrong, each.error))
    return None if looked else Said("error", "output", "the data was not checked (-c 0)")
