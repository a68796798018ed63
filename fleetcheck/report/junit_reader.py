"""JUnit files of other suites and of any age of pytest, read by what their testcases hold. Runs on the controller; pure.

The numbers in a header are not to be trusted: a test whose body passed and whose teardown broke was counted twice, ``skips`` became
``skipped``, and the root is one suite or several. So each testcase is told by its own children, error before failure before skipped,
and two elements of one test are one test, told by the worse. A test that was not run is none that passed, a suite whose own setup
broke is an error of its own, and a report without a test says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

RANKS = ("passed", "skipped", "failed", "error")
_TAGS = {"error": "error", "failure": "failed", "skipped": "skipped"}
_NOT_RUN = frozenset({"notrun", "not run", "skipped", "suppressed", "disabled", "pending"})
"""What other frameworks say in the attributes status and result."""
_BEGIN = re.compile(r"<\?xml\b|<testsuites?\b")
_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""Characters that XML 1.0 has no place for, and that programs copy from a terminal."""
LARGEST_BYTES = 64 << 20
"""More than this is no report."""


class JUnitError(Exception):
    """The text is no JUnit report; says why."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test. outcome: passed, failed, error or skipped; message: the first words of what decided."""

    classname: str
    name: str
    outcome: str
    message: str = ""


def parse(text: str) -> list[Case]:
    """Every test once, in the order of the file. Raises JUnitError on a text that is no report, is cut, or declares entities."""
    if len(text) > LARGEST_BYTES or re.search(r"<!(?:DOCTYPE|ENTITY)", text[:10_000]):
        raise JUnitError("no report: too large, or with a document type of its own")
    begin = _BEGIN.search(text)
    try:
        root = ElementTree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", _FORBIDDEN.sub("", text[begin.start() if begin else 0 :])))
    except ElementTree.ParseError as problem:
        raise JUnitError(f"not well-formed XML: {problem}") from None
    if _tag(root) not in ("testsuite", "testsuites"):
        raise JUnitError(f"its root is <{root.tag}>, expected <testsuite> or <testsuites>")
    found = _once(_case(element) for element in root.iter() if _tag(element) == "testcase" or _broken_suite(element))
    if not found:
        raise JUnitError("it holds no test: nothing was tested, which is no pass")
    return found


def _tag(element: ElementTree.Element) -> str:
    """Its name without a namespace."""
    return element.tag.rpartition("}")[2]


def _broken_suite(element: ElementTree.Element) -> bool:
    return _tag(element) == "testsuite" and any(_tag(child) in ("error", "failure") for child in element)


def _case(element: ElementTree.Element) -> Case:
    found = {_TAGS[_tag(child)]: child for child in reversed(element) if _tag(child) in _TAGS}
    not_run = {element.get("status", "").lower(), element.get("result", "").lower()} & _NOT_RUN
    outcome = max(found, key=RANKS.index, default="skipped" if not_run else "passed")
    decided = found.get(outcome)
    words = "".join(not_run) if decided is None else decided.get("message") or decided.text or ""
    return Case(element.get("classname", ""), element.get("name", ""), outcome, " ".join(words.split())[:300])


def _once(cases: Iterator[Case]) -> list[Case]:
    """Two elements of one test (a body that passed, a teardown that broke) as one, by the worse."""
    kept: dict[tuple[str, str], Case] = {}
    for case in cases:
        key = (case.classname, case.name)
        kept[key] = max(kept.get(key, case), case, key=lambda each: RANKS.index(each.outcome))
    return list(kept.values())
