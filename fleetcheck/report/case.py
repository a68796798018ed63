"""One (check, node) as a JUnit testcase. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from junitparser import Error, Failure, Skipped, TestCase
from junitparser.junitparser import FinalResult

from fleetcheck.records import Result
from fleetcheck.report.past_words import past_words
from fleetcheck.text import clean

MESSAGE_CHARACTERS = 300
TEXT_CHARACTERS = 16_384
"""Longer texts are cut and say by how much; results.jsonl keeps them."""
METRICS_SHOWN = 40


def testcase(result: Result, suite: str) -> TestCase:
    """The testcase of one result.

    classname starts with the node: GitLab keeps only one of several cases with equal classname and name, and Jenkins
    follows a case through builds by both.
    """
    case = TestCase(clean(result.check, MESSAGE_CHARACTERS), clean(f"{suite}.{result.component}", MESSAGE_CHARACTERS),
                    round(result.seconds, 4))
    if result.outcome != "passed":
        case.append(ending(result))
    case.system_out = clean("\n".join(details(result)), TEXT_CHARACTERS)
    return case


def unaccounted(entry: Mapping[str, str], suite: str) -> TestCase:
    """The testcase of a planned item without any outcome: an error, so that nothing selected goes unmentioned."""
    case = TestCase(clean(entry["check"], MESSAGE_CHARACTERS),
                    clean(f"{suite}.{entry['component']}", MESSAGE_CHARACTERS), 0.0)
    case.append(Error("not measured: the run ended without an outcome for this item", "missing"))
    return case


def standing(findings: Sequence[Mapping[str, Any]], suite: str) -> TestCase:
    """The testcase of findings that no item of this run made, all of one check: open ones of earlier runs, or a node below its peers.

    Its name is its own: the check itself may stand beside it, not measured this time.
    """
    first = findings[0]
    named = f"{first['check']} (open)" if first.get("open_since") else first["check"]
    case = TestCase(clean(named, MESSAGE_CHARACTERS), clean(f"{suite}.{first['component']}", MESSAGE_CHARACTERS), 0.0)
    said = [f"{each['message']} ({past})" if (past := past_words(each)) else str(each["message"]) for each in findings]
    end = Failure(clean(said[0].partition("\n")[0], MESSAGE_CHARACTERS), first["severity"])
    end.text = clean("\n".join(said), TEXT_CHARACTERS)
    case.append(end)
    parts = [f"part: {part_text(part)}" for each in findings for part in each["parts"]]
    case.system_out = clean("\n".join([f"severity: {first['severity']}, action: {first['action']}", *parts]), TEXT_CHARACTERS)
    return case


def ending(result: Result) -> FinalResult:
    """failure for a finding (typed by severity), error for what was not measured, skipped for what does not apply."""
    message = clean(result.message.partition("\n")[0], MESSAGE_CHARACTERS)
    if result.outcome == "skipped":
        return Skipped(message, "waived" if message.startswith("waived until ") else "does not apply")
    end = Failure(message, result.severity) if result.outcome == "failed" else Error(message, "not measured")
    end.text = clean(result.message, TEXT_CHARACTERS)
    return end


def details(result: Result) -> Iterator[str]:
    """What stands behind a result, a line each: measured values, limit with its source, parts, coverage.

    They go to system-out, for the Jenkins schema has no properties inside a testcase.
    """
    if result.description:
        yield result.description
    if result.outcome == "failed":
        yield f"severity: {result.severity}, action: {result.action}"
    yield from (f"measured: {name} = {_value(value)}" for name, value in list(result.metrics.items())[:METRICS_SHOWN])
    if len(result.metrics) > METRICS_SHOWN:
        yield f"measured: {len(result.metrics) - METRICS_SHOWN} more values in results.jsonl"
    if result.bound:
        yield f"limit: {limit(result.bound)}"
    if result.source:
        yield f"source: {result.source}"
    yield from (f"part: {part_text(part)}" for part in result.parts)
    yield from (f"{name}: {value}" for name, value in (
        ("nodes", " ".join(result.nodes)), ("coverage", result.coverage), ("boot id", result.boot_id),
        ("item", result.nodeid),
    ) if value)


def limit(bound: Mapping[str, Any]) -> str:
    """A bound as people read it.

    >>> limit({"low": 8, "high": 8, "unit": "GPUs"}), limit({"allowed": ["on", "off"]})
    ('8 GPUs', 'on or off')
    """
    if "allowed" in bound:
        return " or ".join(map(str, bound["allowed"])) or "nothing"
    low, high, unit = bound.get("low"), bound.get("high"), bound.get("unit", "")
    if low == high:
        return f"{low:g} {unit}".rstrip()
    ends = [f"≥ {low:g}" if low is not None else "", f"≤ {high:g}" if high is not None else ""]
    return f"{' and '.join(filter(None, ends))} {unit}".rstrip()


def part_text(part: Mapping[str, str]) -> str:
    """Which piece to look at: label, slot and serial, as far as known."""
    slot = f" at {part['slot']}" if part.get("slot") else ""
    serial = f" serial {part['serial']}" if part.get("serial") else ""
    return f"{part.get('label') or part.get('kind', '')}{slot}{serial}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{label}: {each}" for label, each in value.items())
    return str(value)
