"""junit.xml: one testsuite a node, one testcase a (check, node), valid against the schema Jenkins reads.

Up to NODES_PER_FILE nodes make one ``junit.xml``; above that every rack has its own ``junit-<rack>.xml``, and what
belongs to no single node is in ``junit.xml``. CI collects ``junit*.xml``.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO
from xml.sax.saxutils import quoteattr

from junitparser import TestCase, TestSuite

from fleetcheck.inventory import Node
from fleetcheck.records import Result
from fleetcheck.remembered import PEERS
from fleetcheck.report.case import MESSAGE_CHARACTERS, standing, testcase, unaccounted
from fleetcheck.run import RunError, write_atomically
from fleetcheck.text import clean

DECLARATION = '<?xml version="1.0" encoding="utf-8"?>\n'
CHUNK_CHARACTERS = 1 << 20
NODES_PER_FILE = 512
FLEET = "fleet"
"""Name of the suite of items about several nodes; its key among suites is the empty name, which no node has."""
PROPERTIES = ("verdict", "certified", "action", "state", "serial", "profile", "reason")


def write(
    folder: Path, verdicts: Mapping[str, Any], results: Sequence[Result] | Mapping[str, Sequence[Result]],
    nodes: Sequence[Node],
) -> tuple[Path, ...]:
    """Write the report of a judged run into its folder; the files written. Files of an earlier rendering are removed.

    Raises RunError when the disk refuses.
    """
    outcomes = results if isinstance(results, Mapping) else _by_suite(results)
    missing = _by_suite_missing(verdicts["missing"])
    written = []
    for name, suites in files([*verdicts["nodes"]], nodes).items():
        built = (suite(each, verdicts, outcomes, missing) for each in suites)
        written.append(_write(folder / name, document_name(verdicts), built))
    for stale in set(folder.glob("junit*.xml")) - set(written):
        stale.unlink()
    return tuple(written)


def _write(path: Path, name: str, suites: Iterable[TestSuite]) -> Path:
    try:
        with tempfile.TemporaryFile("w+", encoding="utf-8", dir=path.parent) as body:
            write_atomically(path, document(name, suites, body))
    except OSError as error:
        hint = f"free some space, then: fleetcheck report {path.parent.name}"
        raise RunError(f"cannot write {path}: {error.strerror}; {hint}") from error
    return path


def files(names: Sequence[str], nodes: Sequence[Node]) -> dict[str, list[str]]:
    """Which suites go into which file: {file name: suite names}; the fleet's own suite is always in junit.xml."""
    if len(names) <= NODES_PER_FILE:
        return {"junit.xml": [*names, ""]}
    racks = {node.name: node.labels.get("rack", "") for node in nodes}
    members: dict[str, list[str]] = defaultdict(list)
    for name in names:
        members[racks.get(name, "")].append(name)
    chosen = file_names(members)
    return {"junit.xml": [""], **{chosen[rack]: suites for rack, suites in members.items()}}


def file_names(racks: Iterable[str]) -> dict[str, str]:
    """A file name for each rack: safe anywhere, and different even where only case or odd characters differ.

    >>> file_names(["12", "a/b", "a b", ""])
    {'12': 'junit-12.xml', 'a/b': 'junit-a_b.xml', 'a b': 'junit-a_b-2.xml', '': 'junit-no-rack.xml'}
    """
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for rack in racks:
        stem = re.sub(r"[^A-Za-z0-9._-]", "_", rack)[:64] or "no-rack"
        name, count = stem, 1
        while name.lower() in taken:
            count += 1
            name = f"{stem}-{count}"
        taken.add(name.lower())
        chosen[rack] = f"junit-{name}.xml"
    return chosen


def document_name(verdicts: Mapping[str, Any]) -> str:
    """What a document is called."""
    return clean(f"{verdicts['fleet']} {verdicts['run']}", MESSAGE_CHARACTERS)


def document(name: str, suites: Iterable[TestSuite], body: TextIO) -> Iterator[str]:
    """One document with these suites, its counts summed up, piece by piece: a thousand nodes' do not fit into memory.

    body: a file for what stands between its opening tag, which has the counts, and its end.
    """
    tests = failures = errors = 0
    seconds = 0.0
    for each in suites:
        body.write(each.tostring().decode())
        tests, failures, errors = tests + each.tests, failures + each.failures, errors + each.errors
        seconds += each.time
    body.seek(0)
    yield (f'{DECLARATION}<testsuites name={quoteattr(name)} tests="{tests}" failures="{failures}" errors="{errors}" '
           f'time="{seconds:.3f}">')  # no skipped: the Jenkins schema has none here
    yield from iter(lambda: body.read(CHUNK_CHARACTERS), "")
    yield "</testsuites>"


def suite(
    name: str, verdicts: Mapping[str, Any], outcomes: Mapping[str, Sequence[Result]],
    missing: Mapping[str, Sequence[Mapping[str, str]]],
) -> TestSuite:
    """The suite of one node, or of the fleet (the empty name)."""
    cases = _cases(name or FLEET, outcomes.get(name, ()), missing.get(name, ()))
    return _suite(name, verdicts, [*cases, *_standing(name, verdicts["nodes"].get(name, {}))])


def _cases(name: str, results: Sequence[Result], missing: Sequence[Mapping[str, str]]) -> Iterator[TestCase]:
    yield from (testcase(result, name) for result in results)
    yield from (unaccounted(entry, name) for entry in missing)


def _standing(name: str, verdict: Mapping[str, Any]) -> Iterator[TestCase]:
    """What is held against a node though no item of this run says it: a node that is still failed must not look passed."""
    found: dict[tuple[str, bool], list[Mapping[str, Any]]] = defaultdict(list)
    for each in verdict.get("findings", ()):
        if each.get("open_since") or each["component"] == PEERS:
            found[each["check"], bool(each.get("open_since"))].append(each)
    yield from (standing(findings, name) for findings in found.values())


def _suite(name: str, verdicts: Mapping[str, Any], cases: list[TestCase]) -> TestSuite:
    suite = TestSuite(clean(name or FLEET, MESSAGE_CHARACTERS))
    suite.timestamp = verdicts["started"]
    suite.hostname = suite.name
    for key, value in _properties(name, verdicts):
        suite.add_property(key, clean(value, MESSAGE_CHARACTERS))
    suite.add_testcases(cases)
    return suite


def _properties(name: str, verdicts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What is said of the node as a whole; of the fleet: whether the run is complete, and its own findings."""
    node = verdicts["nodes"].get(name)
    yield "run", verdicts["run"]
    yield "tier", verdicts["tier"]
    if node is None:
        yield "complete", _word(verdicts["complete"])
        yield "partial", verdicts["partial"]
        yield "isolate", verdicts["isolate"]
        for each in verdicts["fleet_findings"]:
            yield "finding", f"{each['check']} on {each['nodes']}: {each['message']}"
        return
    yield from ((key, _word(node[key])) for key in PROPERTIES)
    yield "coverage", f"{node['coverage']['measured']} of {node['coverage']['planned']}"
    if node["unreachable"]:
        yield "unreachable", f"{node['unreachable']['which']} ({node['unreachable']['kind']})"


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _by_suite(results: Iterable[Result]) -> dict[str, list[Result]]:
    suites: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        suites[result.node].append(result)
    return suites


def _by_suite_missing(missing: Iterable[Mapping[str, str]]) -> dict[str, list[Mapping[str, str]]]:
    suites: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for entry in missing:
        suites[entry["node"]].append(entry)
    return suites
