"""``fleetcheck rma``: what a vendor needs to take a part back: serials, slot, failing evidence, history. Runs on the controller."""

from __future__ import annotations

import io
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fleetcheck import history_queries as asks
from fleetcheck.history import Answered, History
from fleetcheck.history_page import show
from fleetcheck.run import Run, RunError, runs

COLLECTORS = ("gpu", "kernel_log", "pci", "drives", "dimms", "modules", "bmc", "ras")
"""Whose answers go to the vendor: hardware's own words. What tells of users, jobs, networks and configuration stays."""
_SECRET = re.compile(r"(?i)pass(word|wd|phrase)|secret|token|credential|private|api_?key|user|environ|command_?line|cookie|hostname")
_IN_TEXT = re.compile(r"(?i)\b(password|passwd|secret|token|api[_-]?key)\b(\s*[=:]\s*)\S+|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)")
REMOVED = "(left out)"


def bundle(reports: Path, node: str, target: Path) -> Path:
    """Write the archive of a node, and name it. Raises RunError where the history knows no such node, or the disk refuses."""
    with History(reports) as history:
        findings = history.ask(asks.FINDINGS.format(about=asks.ABOUT["node"]), {"what": node})
        stood = history.ask(asks.STOOD.format(about=asks.ABOUT["node"]), {"what": node})
        if not stood.rows and not findings.rows:
            raise RunError(f"{node!r:.80} is no node of the {len(history.files)} runs under {reports}; "
                           "fleetcheck history shows what is known of a node, a serial or a check")
    files = {"findings.json": _json(findings), "parts.json": _json(stood), "history.txt": _history(reports, node),
             **{f"evidence/{run.id}.json": text for run, text in _evidence(reports, node)}}
    files["README.txt"] = _read_me(node, findings, stood, files)
    name = re.sub(r"[^A-Za-z0-9._-]", "_", node)
    try:
        with tarfile.open(target, "w:gz") as archive:
            for path, text in sorted(files.items()):
                _add(archive, f"rma-{name}/{path}", text.encode())
        target.chmod(0o640)
    except OSError as error:
        raise RunError(f"cannot write {target}: {error.strerror}; choose another place with --output FILE") from error
    return target


def _add(archive: tarfile.TarFile, path: str, content: bytes) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode = len(content), 0o644
    archive.addfile(entry, io.BytesIO(content))


def _history(reports: Path, node: str) -> str:
    stream = io.StringIO()
    show(reports, node, stream, everything=True)
    return stream.getvalue()


def _evidence(reports: Path, node: str, most: int = 3) -> Iterator[tuple[Run, str]]:
    """The node's failed results and hardware answers of the newest runs in which it failed, as far as they are kept."""
    left = most
    for run in runs(reports):
        failed = _failed(run, node)
        if failed:
            yield run, json.dumps({"run": run.id, "failed": failed, "answers": _answers(run, node)}, indent=1)
            left -= 1
        if not left:
            return


def _failed(run: Run, node: str) -> list[Any]:
    try:
        if run.facts.get("replay_of"):
            return []
        return [clean({"check": each.check, "severity": each.severity, "action": each.action, "message": each.message,
                       "parts": [dict(part) for part in each.parts], "measured": dict(each.metrics), "limit": each.bound,
                       "source": each.source})
                for each in run.judged() if each.outcome == "failed" and node in each.blamed]
    except (RunError, TypeError, KeyError):
        return []


def _answers(run: Run, node: str) -> dict[str, Any]:
    try:
        return {name: clean(answer.data) for each in run.gathered() if each.node == node
                for name, answer in each.answers.items() if name in COLLECTORS}
    except (RunError, TypeError, KeyError):
        return {}


def clean(value: Any) -> Any:
    """A value without what a vendor must not see.

    >>> clean({"serial": "S1", "password": "x", "text": "login with token=abc at https://me:pw@host/"})
    {'serial': 'S1', 'password': '(left out)', 'text': 'login with token=(left out) at https://(left out)@host/'}
    """
    if isinstance(value, Mapping):
        return {str(key): REMOVED if _SECRET.search(str(key)) else clean(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(each) for each in value]
    return _IN_TEXT.sub(lambda match: f"{match[1]}{match[2]}{REMOVED}" if match[1] else REMOVED, value) if isinstance(value, str) else value


def _json(answered: Answered) -> str:
    return json.dumps([clean({key: each if isinstance(each, (int, float, bool)) else str(each) for key, each in row.items()})
                       for row in answered], indent=1) + "\n"


def _read_me(node: str, findings: Answered, stood: Answered, files: Mapping[str, str]) -> str:
    """The first page: the machine, what is wrong with which part, and what else is here."""
    machine = next((row["serial"] for row in reversed(list(stood)) if row["kind"] == "chassis"), "unknown")
    lines = [f"node {node}, machine serial {machine}", "", "Findings, the latest first:"]
    lines += [f"  {row['last']}  {row['severity']}  {row['part'] or 'node'} ({_whose(row['place'], stood)}): {row['message']} "
              f"[{row['check']}, {row['failed']} of {row['of_runs']} runs since {row['first']}]" for row in findings] or ["  none"]
    return "\n".join(str(clean(line)) for line in [*lines, "", "Files:", *(f"  {name}" for name in sorted(files))]) + "\n"


def _whose(place: str, stood: Answered) -> str:
    """A part by serial and slot; one that answers no more by the serial last seen in its slot."""
    for row in reversed(list(stood)):
        if row["kind"] != "chassis" and (row["serial"] == place or place.endswith(f" {row['slot']}")):
            return f"serial {row['serial']}, slot {row['slot']}"
    return place
