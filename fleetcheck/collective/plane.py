"""One plane judged: who must be at fault so that these pairs failed and those went well. Runs on the controller; pure.

A trial that went well clears both its nodes. What failed is explained by the fewest: first groups that fail as a whole, then nodes that
are well with nobody, then pairs whose both ends are well with others. Each is blamed only on the evidence that its function names; until
then it says what it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from fleetcheck.collective.finding import Finding, confidence
from fleetcheck.collective.ledger import Ledger, ledger, partner
from fleetcheck.collective.need import Need
from fleetcheck.collective.observation import Observation, Plane
from fleetcheck.collective.switches import Suspected, suspected
from fleetcheck.collective.topology import Topology

LEAST_PARTNERS = 3
"""Different partners a node must have failed with before it is blamed."""
LEAST_GOOD = 2
"""So many of them are known to be good: a partner that is not explains its own trial, and one trial may fail by chance."""
UNSTEADY_PARTNERS = 3
"""Different good partners that a node must have failed with when it is well with others."""


@dataclass
class Judgement:
    """findings; needs: trials that would decide the rest; doubtful: nodes that are no partners to rely on; pending: members of groups that
    are suspected as a whole and not yet blamed; explained: ids of trials."""

    findings: list[Finding] = field(default_factory=list)
    needs: list[Need] = field(default_factory=list)
    doubtful: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    explained: set[str] = field(default_factory=set)

    def blame(self, finding: Finding, failed: Sequence[Observation]) -> None:
        """Takes a finding in, with the trials that it explains."""
        self.findings.append(finding)
        self.explained.update(each.trial for each in failed)
        self.doubtful.update(finding.members)


def judge(plane: Plane, observed: Sequence[Observation], topology: Topology) -> Judgement:
    """The pairs of one plane judged; larger groups are `wide.py`'s matter."""
    book = ledger(observed)
    judged = Judgement()
    if not book.failures:
        return judged
    if not book.passes:
        _nobody(judged, plane, "all trials fail: configuration or fabric", [pair for pair in book.pairs if pair.failed])
        return judged
    _everywhere(judged, plane, book, topology)
    if not judged.findings:
        for group in suspected(book, topology):
            _group(judged, plane, group)
    _nodes(judged, plane, book)
    _links(judged, plane, book)
    _majority(judged, plane, book)
    return judged


def _everywhere(judged: Judgement, plane: Plane, book: Ledger, topology: Topology) -> None:
    """All trials between leaves fail, or all within leaves: that is nobody's fault alone."""
    for apart, words in ((True, "between"), (False, "within")):
        if not topology.leaves or any(not pair.failed and topology.apart(pair.members) == apart for pair in book.pairs):
            continue
        pairs = [pair for pair in book.pairs if topology.apart(pair.members) == apart]
        if len(pairs) >= UNSTEADY_PARTNERS:
            _nobody(judged, plane, f"all trials {words} leaves fail: configuration or fabric", pairs)


def _group(judged: Judgement, plane: Plane, group: Suspected) -> None:
    of = f"{group.label} {group.name}"
    if group.certain:
        words = f"{'the uplinks of ' if group.scope == 'uplinks' else ''}{of}: all {len(group.failed)} trials through it fail"
        finding = Finding("switch", group.members, symptom(plane, group.failed), plane.rail, group.label, group.name, group.scope,
                          confidence(len(group.failed)), ids(group.failed), words)
        judged.blame(finding, group.failed)
        return
    _nobody(judged, plane, f"{of} or single nodes or links of it", group.failed)
    judged.pending.update(group.members)
    judged.needs += group.needs


def _nodes(judged: Judgement, plane: Plane, book: Ledger) -> None:
    """Nodes that were well with nobody, and those that fail with three good partners though they are well with others."""
    whole = set().union(*(finding.members for finding in judged.findings if finding.kind == "switch" and finding.scope == "all"))
    certain = [(node, failed) for node in book.failures if node not in whole and _certain(node, failed := _open(judged, book, node), book)]
    for node, failed in certain:
        passed = len(book.passes.get(node, ()))
        others = sorted({partner(each, node) for each in failed})
        words = f"{node} fails with {', '.join(others[:4])} and is well {f'in {passed} other trials' if passed else 'with nobody'}"
        judged.blame(Finding("node", (node,), symptom(plane, failed), plane.rail, confidence=confidence(len(failed), passed),
                             trials=ids(failed), message=words + _said(failed)), failed)
    known = {node for node, _ in certain} | whole | judged.pending
    good = frozenset(book.passes)
    for node in book.failures:
        if not book.good(node) and node not in known:
            judged.needs.append(Need(node, among=good, why="with another partner known to be good"))
            judged.doubtful.add(node)


def _certain(node: str, failed: Sequence[Observation], book: Ledger) -> bool:
    others = {partner(each, node) for each in failed}
    good = sum(book.good(other) for other in others)
    return good >= UNSTEADY_PARTNERS if book.good(node) else len(others) >= LEAST_PARTNERS and good >= LEAST_GOOD


def _open(judged: Judgement, book: Ledger, node: str) -> list[Observation]:
    return [each for each in book.failures[node] if each.trial not in judged.explained]


def _links(judged: Judgement, plane: Plane, book: Ledger) -> None:
    """Pairs that fail though both ends are well with others: blamed when the same pair failed twice, more often than it went well."""
    done: set[tuple[str, str]] = set()
    for pair in book.pairs:
        if not pair.failed or pair.trial in judged.explained:
            continue
        one, two = sorted(pair.members)
        if (one, two) in done:
            continue
        done.add((one, two))
        seen = book.of_pair((one, two))
        failed = [each for each in seen if each.failed]
        if not (book.good(one) and book.good(two)):
            undecided = [node for node in (one, two) if not book.good(node)]
            _nobody(judged, plane, f"{one} or {two} or their link: {', '.join(undecided)} not tried enough", failed)
        elif len(failed) > 1 and 2 * len(failed) > len(seen):
            words = f"{one} and {two} fail with each other {len(failed)} times and are both well with others"
            sure = confidence(len(failed), len(seen) - len(failed))
            judged.blame(Finding("link", (one, two), symptom(plane, failed), plane.rail, confidence=sure, trials=ids(failed),
                                 message=words + _said(failed)), failed)
        else:
            again = len(failed) == len(seen) or 2 * len(failed) == len(seen) > 2
            words = "failed once with each other, are well with others" if len(failed) == len(seen) else "failed with each other, not again"
            _nobody(judged, plane, f"{one} and {two} {words}", failed)
            if again:
                judged.needs.append(Need(one, two, why="the same pair again"))


def _majority(judged: Judgement, plane: Plane, book: Ledger) -> None:
    """Where more than half of the nodes are well with nobody, the answer is not determined, and nobody is blamed."""
    bad = [node for node in book.failures if not book.good(node)]
    if 2 * len(bad) > len(book.measured):
        judged.findings.clear()
        _nobody(judged, plane, f"{len(bad)} of {len(book.measured)} nodes are well with nobody: configuration or fabric",
                [pair for pair in book.pairs if pair.failed])


def _nobody(judged: Judgement, plane: Plane, message: str, failed: Sequence[Observation]) -> None:
    members = tuple(sorted({node for each in failed for node in each.members}))
    judged.blame(Finding("nobody", members, symptom(plane, failed), plane.rail, trials=ids(failed), message=message + _said(failed)),
                 failed)


def symptom(plane: Plane, failed: Sequence[Observation]) -> str:
    """What the failed trials showed; of stopped ones the outcome that most had."""
    if plane.trouble != "stopped":
        return plane.trouble
    return Counter(words for each in failed for words in each.words[:1]).most_common(1)[0][0]


def ids(failed: Sequence[Observation]) -> tuple[str, ...]:
    """Ids of the trials, in order."""
    return tuple(each.trial for each in failed)


def _said(failed: Sequence[Observation]) -> str:
    words = next((each.words for each in failed if each.words), ())
    return f" ({'; '.join(words[:2])})" if words else ""
