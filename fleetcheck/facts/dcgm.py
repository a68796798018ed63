"""What ``dcgmi diag`` answered, as JSON of either schema or as its table. Runs on the controller; pure.

A skipped test is not a passed one: a card for which every test of the hardware was skipped has been through nothing. Words such as
"busy or unavailable" are said alike of a GPU in use, in exclusive mode, and one that waits for a reset: ask again, then believe it.
What looks at the installation alone (persistence mode, libraries, permissions) blames no GPU. A pass with an error beside it is none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fleetcheck.absent import NotMeasured

ROOTS = ("DCGM Diagnostic", "DCGM GPU Diagnostic")
"""Names of the document's root: since DCGM 3.3, and before."""
STATUSES = ("Pass", "Fail", "Warn", "Skip")
SOFTWARE = frozenset({"deployment", "software", "metadata"})
"""Categories that look at the installation alone; a pass in them says nothing about a GPU."""
CONFIGURATION = frozenset({
    "denylist", "blacklist", "nvml library", "cuda main library", "cuda toolkit library", "cuda toolkit libraries",
    "permissions and os blocks", "persistence mode", "environment variables", "graphics processes", "fabric manager",
})
"""Their tests that a setting or a package mends; the others (retired pages, InfoROM) are about the GPU. DCGM 4 has one test for all of
them, and names the part in front of its words."""
UNNAMED = "fails as a whole and names no GPU"
NO_PASS = "passes, and an error beside it says otherwise"
_CATEGORY = re.compile(r"^[+|]-+ +(.+?) +-+\+-+[+|]$")
_DOCUMENT = re.compile(r'\{\s*"')
"""Where a document begins; braces in a line before it do not look like this."""
_CELLS = re.compile(r"^\|([^|]*)\|(.*)\|$")
_STATUS = re.compile(r"\b(Pass|Fail|Warn|Skip)\b(?: - (?:All|GPUs?: (?P<gpus>\d+(?:, *\d+)*)))?")
_EACH = re.compile(r"\bGPU(\d+): (Pass|Fail|Warn|Skip)\b")
"""DCGM 4 repeats a test's status for each GPU below that of all."""
_GPU = re.compile(r"\bGPU (\d+)\b")


@dataclass(frozen=True, slots=True)
class Result:
    """One test on one GPU; gpu is None where it was said of all of them. words: its warnings, errors and notes."""

    category: str
    test: str
    gpu: int | None
    status: str
    words: str = ""

    @property
    def of_hardware(self) -> bool:
        """Whether it exercised anything."""
        return self.category.strip().lower() not in SOFTWARE

    @property
    def of_configuration(self) -> bool:
        """Whether a setting or a package of the node is what it speaks of."""
        names = (self.test.strip().lower(), self.words.partition(":")[0].strip().lower())
        return not self.of_hardware and any(name in CONFIGURATION for name in names)


@dataclass(frozen=True, slots=True)
class Judged:
    """outcome of one GPU: passed, failed, error (not measured); message: the tests that decided. severity and action where
    configuration decided, else empty."""

    outcome: str
    message: str
    severity: str = ""
    action: str = ""


def parse(text: str) -> list[Result]:
    """All results. Raises NotMeasured on text that is neither a diagnostic's JSON nor its table, or is cut."""
    found = _document(text)
    results = list(_of_document(found)) if found is not None else _of_table(text)
    if not results:
        raise NotMeasured(f"not a diagnostic of DCGM: {text.strip()[:100]!r}")
    return results


def judge(results: Sequence[Result], again: bool = False) -> dict[int | None, Judged]:
    """By GPU. again: the diagnostic ran before and said the same, so that "busy" is believed."""
    known = sorted({result.gpu for result in results if result.gpu is not None})
    gpus: list[int | None] = [*known] or [None]
    return {gpu: _judged([each for each in results if each.gpu in (None, gpu)], again) for gpu in gpus}


def _judged(results: Sequence[Result], again: bool) -> Judged:
    failed = [each for each in results if each.status in ("Fail", "Warn")]
    if failed and not again and all("busy or unavailable" in each.words for each in failed):
        return Judged("error", f"{_names(failed)}: device busy or unavailable; look for processes, exclusive mode, "
                               "a pending reset; ask again")
    broken = [each for each in failed if not each.of_configuration] or [each for each in failed if each.status == "Fail"]
    if broken:
        settings = ("degraded", "fix-config") if broken[0].of_configuration else ()
        return Judged("failed", f"{_names(broken)}: {broken[0].words[:200]}".rstrip(": "), *settings)
    strange = [each for each in results if each.status not in STATUSES]
    if strange:
        return Judged("error", f"{strange[0].test}: status {strange[0].status!r} {strange[0].words[:200]}".rstrip())
    passed = [each for each in results if each.status == "Pass" and each.of_hardware]
    skipped = [each for each in results if each.status == "Skip"]
    if not passed:
        return Judged("error", f"nothing of the hardware was tested; skipped: {_names(skipped) or 'nothing'}")
    if failed:
        return Judged("failed", f"{_names(failed)}: {failed[0].words[:200]}".rstrip(": "), "warn", "fix-config")
    return Judged("passed", f"{_names(passed)}{'; skipped: ' + _names(skipped) if skipped else ''}")


def _names(results: Sequence[Result]) -> str:
    return ", ".join(dict.fromkeys(each.test for each in results))


def _document(text: str) -> Any:
    """The diagnostic's object, wherever lines before it end; None when there is none."""
    start = _DOCUMENT.search(text)
    if not start or not any(f'"{root}"' in text for root in ROOTS):
        return None
    try:
        whole, _ = json.JSONDecoder().raw_decode(text[start.start():])
    except ValueError as problem:
        raise NotMeasured(f"the diagnostic's JSON is cut or has strange parts: {problem}") from None
    return next((whole[root] for root in ROOTS if root in whole), None)


def _of_document(found: Any) -> Iterator[Result]:
    try:
        if "runtime_error" in found:
            raise NotMeasured(f"the diagnostic broke off: {found['runtime_error']!s:.200}")
        for category in found["test_categories"]:
            for test in category["tests"]:
                yield from _of_test(str(category["category"]), str(test["name"]), test)
    except (KeyError, TypeError, AttributeError, ValueError) as problem:
        raise NotMeasured(f"the diagnostic's JSON is not as expected: {type(problem).__name__}: {problem}") from None


def _of_test(category: str, name: str, test: Mapping[str, Any]) -> Iterator[Result]:
    """One test's results, and its summary where that fails and no result says so."""
    results = [each for result in test["results"] for each in _of_result(category, name, result)]
    yield from results
    summary = test.get("test_summary") or {}
    status = str(summary.get("status", "")).capitalize()
    if status in ("Fail", "Warn") and not any(each.status in ("Fail", "Warn") for each in results):
        yield Result(category, name, None, UNNAMED, " ".join(_texts(summary.get("warnings"))))


def _of_result(category: str, test: str, result: Mapping[str, Any]) -> Iterator[Result]:
    """Schema 4 names an entity, schema 3 one GPU or several, as strings; a result of the CPU is none of a GPU."""
    if result.get("entity_group", "GPU") != "GPU" and "gpu_id" not in result:
        return
    named = result.get("entity_id", result.get("gpu_id", result.get("gpu_ids", "")))
    gpus: list[int | None] = [*map(int, re.findall(r"\d+", str(named)))] or [None]
    warned, status = _texts(result.get("warnings")), str(result["status"]).capitalize()
    said = " ".join([*warned, *_texts(result.get("info"))])
    for gpu in gpus:
        yield Result(category, test, gpu, NO_PASS if warned and status == "Pass" else status, said)


def _texts(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [str(value.get("warning", value))]
    if isinstance(value, list):
        return [text for each in value for text in _texts(each)]
    return [str(value)] if value else []


def _of_table(text: str) -> list[Result]:
    """The table's rows; a cell goes on below without a break between words, so its lines are joined at their full width."""
    category, rows = "", list[list[str]]()
    width = max((len(cells[2].rstrip()) - 1 for cells in map(_CELLS.match, map(str.strip, text.splitlines())) if cells), default=0)
    for line in text.splitlines():
        heading, cells = _CATEGORY.match(line.strip()), _CELLS.match(line.strip())
        if heading:
            category = heading[1]
        elif cells and cells[1].strip():
            rows.append([category, cells[1].strip(), _content(cells[2], width)])
        elif cells and rows:
            rows[-1][2] += ("\n" if _EACH.match(cells[2].strip()) else "") + _content(cells[2], width)
    return _of_rows(rows)


def _content(cell: str, width: int) -> str:
    """The text of a cell at the width where the table breaks it, which is that of its longest line."""
    return cell[1 : width + 1].ljust(width)


def _of_rows(rows: Sequence[Sequence[str]]) -> list[Result]:
    """A row with a status is a test; the rows of prose behind it, Warning, Error and Info, belong to it."""
    results: list[Result] = []
    for category, name, said in rows:
        kind = name.partition(":")[0]
        if kind not in ("Warning", "Info", "Error") and _STATUS.match(said):
            results += [Result(category, name, gpu, status) for gpu, status in _statuses(said)]
        elif kind in ("Warning", "Error") and results:
            results = _worded(results, " ".join(said.split()))
    return results


def _statuses(said: str) -> list[tuple[int | None, str]]:
    """A test's status by GPU; None is all of them."""
    each = [(int(gpu), status) for gpu, status in _EACH.findall(said)]
    return [*each] or [(gpu, found[1]) for found in _STATUS.finditer(said) for gpu in _gpus(found)]


def _gpus(found: re.Match[str]) -> list[int | None]:
    return [*map(int, re.findall(r"\d+", found["gpus"] or ""))] or [None]


def _worded(results: list[Result], words: str) -> list[Result]:
    """The warning given to the last test's results that it names."""
    named, test = {int(gpu) for gpu in _GPU.findall(words)}, results[-1].test
    return [replace(each, words=f"{each.words} {words}".strip())
            if each.test == test and each.status in ("Fail", "Warn") and (not named or each.gpu in named or each.gpu is None) else each
            for each in results]
