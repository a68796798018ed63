"""One run's directory: its id, its append-only files, and finding earlier runs. Runs on the controller."""

from __future__ import annotations

import datetime
import io
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from fleetcheck import inventory, records

NAME = re.compile(r"(\d{8}-\d{6})-[0-9A-Za-z]+\Z")
"""The id of a run: when it began, and what tells it from others of that second."""


class RunError(Exception):
    """A run cannot be found, read or written; the text says which file and what to do."""


@dataclass(frozen=True)
class Run:
    """The files under ``reports/<run-id>/``."""

    path: Path

    @property
    def id(self) -> str:
        """Its name under reports/, such as 20261130-031500-3f2a."""
        return self.path.name

    @property
    def plan(self) -> Path:
        """Every selected (check, node), written before the first connection."""
        return self.path / "plan.jsonl"

    @property
    def evidence(self) -> Path:
        """What nodes answered, one line a probe; the last line of a (node, probe) counts."""
        return self.path / "evidence.jsonl"

    @property
    def results(self) -> Path:
        """What the checks said, one line an item."""
        return self.path / "results.jsonl"

    @property
    def verdicts(self) -> Path:
        """What the run concluded about each node."""
        return self.path / "verdicts.json"

    @property
    def about(self) -> Path:
        """How the run was started and how it ended."""
        return self.path / "run.json"

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The content of run.json; empty when the run never got that far."""
        try:
            told: dict[str, Any] = json.loads(self.about.read_text()) if self.about.exists() else {}
        except (OSError, ValueError) as error:
            raise RunError(f"{self.about}: {error}; start a new run") from error
        return told

    def inventory(self) -> inventory.Inventory:
        """The inventory kept with the run; its relative paths still mean what they meant beside the original."""
        kept = self.path / "inventory" / str(self.facts.get("inventory", ""))
        if not kept.is_file():
            raise RunError(f"{self.path}: no inventory was kept with this run; give one with --inventory")
        origin = self.facts.get("inventory_path")
        return inventory.load(kept, base=Path(origin).parent if origin else None)

    def planned(self) -> Iterator[records.Planned]:
        """The plan."""
        return (records.planned_of(line) for line in lines(self.plan))

    def judged(self) -> Iterator[records.Result]:
        """The results."""
        return (records.result_of(line) for line in lines(self.results))

    def gathered(self) -> Iterator[records.Evidence]:
        """The evidence."""
        return (records.evidence_of(line) for line in lines(self.evidence))

    def by_node(self) -> StoredResults:
        """The results, read from disk node by node."""
        return StoredResults(self.results)

    def conclusions(self) -> dict[str, Any]:
        """The content of verdicts.json."""
        try:
            verdicts: dict[str, Any] = json.loads(self.verdicts.read_text())
        except (OSError, ValueError) as error:
            raise RunError(f"{self.verdicts}: {error}; judge the run again: fleetcheck judge {self.id}") from error
        return verdicts

    def describe(self, facts: Mapping[str, Any]) -> None:
        """Write run.json, whole or not at all."""
        write_atomically(self.about, json.dumps(dict(facts), indent=1) + "\n")


class StoredResults(Mapping[str, Sequence[records.Result]]):
    """Results on disk by the node they belong to ('' for the fleet's), in memory only for the node asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: dict[str, list[int]] = {}
        for offset, line in placed_lines(path):
            self._offsets.setdefault(line["node"], []).append(offset)

    def __getitem__(self, node: str) -> Sequence[records.Result]:
        offsets = self._offsets[node]
        with self._path.open("rb") as stream:
            return [self._at(stream, offset) for offset in offsets]

    def _at(self, stream: BinaryIO, offset: int) -> records.Result:
        stream.seek(offset)
        return records.result_of(json.loads(stream.readline()))

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def __len__(self) -> int:
        return len(self._offsets)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file. A last line cut short (a killed run) ends the file; any other bad line is an error.

    Raises RunError naming file and line.
    """
    return (line for _, line in placed_lines(path))


def placed_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same, each with the byte at which its line begins."""
    return ((offset, _record(path, number, line)) for number, offset, line in _whole_lines(path))


def chosen_lines(path: Path, numbers: Container[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects in some lines only, with the number of each line, counted from one."""
    return ((number, _record(path, number, line)) for number, _, line in _whole_lines(path) if number in numbers)


def _whole_lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Number, first byte and text of each line that has an end."""
    offset = 0
    with path.open("rb") if path.exists() else io.BytesIO() as stream:
        for number, line in enumerate(stream, 1):
            if not line.endswith(b"\n"):
                return
            yield number, offset, line
            offset += len(line)


def _record(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise RunError(f"{path}:{number}: damaged line ({error}); remove it or gather the node again") from error
    return told


def create(reports: Path, suffix: str = "") -> Run:
    """A new run directory, readable by its owner and group only. Raises RunError when reports cannot be written."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d-%H%M%S")
    path = reports / f"{stamp}-{suffix or secrets.token_hex(2)}"
    try:
        reports.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o750)
    except OSError as error:
        raise RunError(f"cannot write reports under {reports}: {error.strerror}; choose another place with --reports DIR") from error
    return Run(path)


def find(reports: Path, name: str) -> Run:
    """The run with this id, this path, or the newest (``latest``). Raises RunError saying what was looked for."""
    for path in (Path(name), reports / name):
        if (path / "plan.jsonl").is_file():
            return Run(path.resolve())
    if not reports.is_dir():
        raise RunError(f"no run {name!r}: {reports} is no folder; say with --reports DIR where runs are kept")
    tried = " nor ".join(dict.fromkeys((str(reports / name), str(Path(name)))))
    raise RunError(f"no run {name!r}: no plan.jsonl in {tried}; ls {reports} shows the runs")


def runs(reports: Path, before: str = "", after: str = "") -> Iterator[Run]:
    """The runs of a folder, the newest first; other folders and links are passed over. before, after: ids, not part of them."""
    try:
        names = sorted((path.name for path in reports.iterdir() if NAME.match(path.name) and path.is_dir() and not path.is_symlink()),
                       reverse=True)
    except OSError:
        return
    yield from (Run(reports / name) for name in names if after < name and (not before or name < before))


def began(run: Run) -> datetime.datetime:
    """When a run began, by its id."""
    stamp = NAME.match(run.id)
    assert stamp
    return datetime.datetime.strptime(stamp[1], "%Y%m%d-%H%M%S").replace(tzinfo=datetime.UTC)


def point_latest(run: Run) -> None:
    """Make reports/latest a link to this run, replacing the earlier one in one step."""
    link = run.path.parent / "latest"
    fresh = run.path.parent / f".latest-{run.id}"
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(run.path.name)
    fresh.replace(link)


def keep_inventory(run: Run, kept: inventory.Inventory) -> None:
    """Copy the inventory and its profiles into the run, so that it can be judged again anywhere."""
    folder = run.path / "inventory"
    (folder / "profiles").mkdir(parents=True, exist_ok=True)
    texts = {folder / kept.path.name: kept.text}
    texts |= {folder / "profiles" / Path(name).name: text for name, text in kept.profile_texts.items()}
    for path, text in texts.items():
        if not path.is_file() or path.read_text() != text:
            write_atomically(path, text)


def clear(run: Run) -> None:
    """Remove what a resumed run concluded before: its items are judged anew; its evidence stays."""
    for stale in (run.plan, run.results, run.verdicts):
        stale.unlink(missing_ok=True)


def adopt_evidence(run: Run, earlier: Run) -> None:
    """Give a replay the evidence of the run it replays, without copying where the file system allows it."""
    if not earlier.evidence.exists():
        raise RunError(f"{earlier.evidence}: no evidence to replay")
    try:
        os.link(earlier.evidence, run.evidence)
    except OSError:
        with disk(run.evidence):
            shutil.copyfile(earlier.evidence, run.evidence)


def own_evidence(run: Run) -> None:
    """Part a run's evidence from replays that share the file, before more is added to it. Raises RunError."""
    if run.evidence.exists() and run.evidence.stat().st_nlink > 1:
        own = run.evidence.with_suffix(".own")
        with disk(run.evidence):
            shutil.copyfile(run.evidence, own)
            own.replace(run.evidence)


@contextmanager
def disk(path: Path) -> Iterator[None]:
    """A refusal of the disk becomes one sentence. Raises RunError."""
    try:
        yield
    except OSError as error:
        raise RunError(f"cannot write {error.filename or path}: {error.strerror}; free some space or choose another place "
                       f"with --reports DIR") from error


def write_atomically(path: Path, text: str | Iterable[str], mode: int = 0o640) -> None:
    """Write a file, of one text or its pieces, so that a reader sees the old one or the new one, never half of it."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.writelines([text] if isinstance(text, str) else text)
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def as_json(content: Mapping[str, Any]) -> str:
    """A document of the run as text, readable by people too."""
    return json.dumps(dict(content), indent=1, ensure_ascii=True, allow_nan=False) + "\n"
