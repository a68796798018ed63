"""What a check is for, what it reads, and what it goes by: for one check as text, for all as docs/checks.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import yaml

from fleetcheck import checkbook, named_limits, nodeset, readings
from fleetcheck.checkbook import Entry
from fleetcheck.facts.registry import FACTS, LOAD, PAIRS, Fact
from fleetcheck.groups import BY_NODE
from fleetcheck.named_limits import Named, Said
from fleetcheck.profile import Profile
from fleetcheck.readings import ANYBODY, Collector, Reading
from fleetcheck.records import TIERS

LOOKALIKES = Path(__file__).resolve().parent / "lookalikes.yaml"
HEAD = """# The checks

Written by `make docs` from the checks themselves; `fleetcheck explain CHECK` prints one. Severity: `fatal` fails the node,
`degraded` degrades it, `warn` is recorded. "Goes by" lists the limits that a check names itself, as the shipped profiles set
them; a site's own profile goes first, and its [policy](inventory.md#policy) may change severity and action or waive a check.
"""


class UnknownCheck(Exception):
    """No check has this name; the text says which come near."""


@dataclass(frozen=True)
class Explanation:
    """A check with everything that is known of it. collectors: with the probe that asks each; loads: what it reads of those; trials:
    whether it reads what trials of several nodes told.
    """

    entry: Entry
    collectors: tuple[tuple[str, Collector], ...]
    limits: tuple[Named, ...]
    lookalikes: tuple[str, ...]
    loads: tuple[str, ...] = ()
    trials: bool = False


def explanations(root: Path) -> list[Explanation]:
    """Every check below a folder, explained."""
    profiles, known, alike = named_limits.shipped(), readings.collectors(), lookalikes()
    return [_explained(entry, profiles, known, alike) for entry in checkbook.read(root)]


def explanation(name: str, root: Path) -> Explanation:
    """One check by its name, with or without ``test_`` and node. Raises UnknownCheck."""
    word = name.rpartition("::")[2].partition("[")[0]
    entries = {entry.name: entry for entry in checkbook.read(root)}
    entry = entries.get(word) or entries.get(f"test_{word}")
    if entry is None:
        near = nodeset.suggestion(word, entries) or nodeset.suggestion(f"test_{word}", entries)
        raise UnknownCheck(f"no check {word!r:.80} in {root}; expected a name of docs/checks.md{near}")
    return _explained(entry, named_limits.shipped(), readings.collectors(), lookalikes())


def _explained(
    entry: Entry, profiles: Sequence[Profile], known: Mapping[str, Collector], alike: Mapping[str, Sequence[str]],
) -> Explanation:
    facts = [fact for fact in FACTS if {fact.name, fact.name + BY_NODE} & {*entry.fixtures}]
    loads = tuple(dict.fromkeys(fact.collector for fact in facts if fact.probe == LOAD))
    return Explanation(entry, _asked(facts, known), tuple(named_limits.named(entry, profiles)), tuple(alike.get(entry.name, ())), loads,
                       any(fact.probe == PAIRS for fact in facts))


def _asked(facts: Iterable[Fact], known: Mapping[str, Collector]) -> tuple[tuple[str, Collector], ...]:
    names = dict.fromkeys((fact.probe, fact.collector) for fact in facts if fact.probe != LOAD)
    return tuple((probe, known[name]) for probe, name in names if name in known)


def lookalikes() -> Mapping[str, Sequence[str]]:
    """By check, what must not trip it."""
    found: Mapping[str, Sequence[str]] = yaml.safe_load(LOOKALIKES.read_text(encoding="utf-8"))
    return found


def as_text(said: Explanation) -> str:
    """One check for the terminal."""
    entry = said.entry
    reads = [f"{collector.name} ({probe}), {privilege}: {', '.join(each.what for each in group)}"
             for probe, collector in said.collectors for privilege, group in _by_privilege(collector.reads)]
    reads += [f"what the loads left: {', '.join(said.loads)}"] if said.loads else []
    reads += ["what trials of several nodes told"] if said.trials else []
    sections = [
        ("", [entry.statement]), ("what to do", [entry.advice] if entry.advice else []), ("grade", [_grade(entry)]),
        ("reads", reads), ("goes by", [f"{limit.key}: {each}" for limit in said.limits for each in _limits(limit)]),
        ("must not be tripped by", list(said.lookalikes)), ("written in", [f"{entry.file}:{entry.line}"]),
    ]
    return "\n".join([entry.name, *(line for title, lines in sections if lines for line in _section(title, lines))])


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines] if not title else [f"  {title}", *(f"    {line}" for line in lines)]


def _grade(entry: Entry) -> str:
    words = entry.words
    idle = ", only on an idle node" if words.get("needs") == "idle" else ""
    tiers = "every tier" if entry.tiers == TIERS else ", ".join(entry.tiers)
    return f"{words.get('component')}: {words.get('severity')} → {words.get('action')}; {tiers}{idle}"


def _by_privilege(reads: Iterable[Reading]) -> list[tuple[str, list[Reading]]]:
    ordered = sorted(reads, key=lambda each: (each.privilege != ANYBODY, each.privilege))
    return [(privilege, list(group)) for privilege, group in groupby(ordered, key=lambda each: each.privilege)]


def _limits(limit: Named) -> list[str]:
    return [_limit(each) for each in limit.said] or ["set by no shipped profile; without it the check is skipped"]


def _limit(said: Said) -> str:
    source = f" ({said.source})" if said.source else ""
    return f"{said.text} in {', '.join(said.profiles)}{source}"


def as_page(said: Sequence[Explanation]) -> str:
    """docs/checks.md."""
    files = [(file, list(group)) for file, group in groupby(said, key=lambda each: each.entry.file)]
    contents = [f"- [{_title(file)}](#{_anchor(_title(file))}): {len(group)} checks" for file, group in files]
    body = [part for file, group in files for part in (f"## {_title(file)}\n", *map(_markdown, group))]
    asked = {collector.name: collector for each in said for _, collector in each.collectors}
    return "\n".join([HEAD, *contents, "- [What is read](#what-is-read)\n", *body, _collectors(asked.values())])


def _title(file: str) -> str:
    """``checks/node/test_gpu_memory.py`` as ``node: gpu memory``."""
    folder, _, name = file.rpartition("/")
    return f"{folder.rpartition('/')[2]}: {name.removeprefix('test_').removesuffix('.py').replace('_', ' ')}"


def _anchor(title: str) -> str:
    return title.replace(":", "").replace(" ", "-")


def _markdown(said: Explanation) -> str:
    entry = said.entry
    limits = [f"`{limit.key}`: {'; '.join(_limits(limit))}" for limit in said.limits]
    rows = [f"{_grade(entry)}"] + ([f"**Do:** {entry.advice}"] if entry.advice else [])
    rows += [f"**Reads:** {'; '.join(_reads(probe, each) for probe, each in said.collectors)}"] if said.collectors else []
    rows += [f"**Reads:** what the loads left: {', '.join(said.loads)}"] if said.loads else []
    rows += ["**Reads:** what trials of several nodes told"] if said.trials else []
    rows += [f"**Goes by:** {row}" for row in limits]
    rows += [f"**Not tripped by:** {' '.join(said.lookalikes)}"] if said.lookalikes else []
    return "\n".join([f"### {entry.name}", "", entry.statement, "", *(f"- {row}" for row in rows), ""])


def _reads(probe: str, collector: Collector) -> str:
    """A collector, and what of it not everybody may read."""
    more = [f"{privilege}: {', '.join(f'`{each.what}`' for each in group)}"
            for privilege, group in _by_privilege(collector.reads) if privilege != ANYBODY]
    return f"[{collector.name}](#what-is-read) of {probe} ({', '.join(more) or 'as any user'})"


def _collectors(collectors: Iterable[Collector]) -> str:
    rows = [f"| {each.name} | {privilege} | {', '.join(f'`{reading.what}`' for reading in group)} |"
            for each in sorted(collectors, key=lambda each: each.name) for privilege, group in _by_privilege(each.reads)]
    return "\n".join(["## What is read", "", "| collector | privilege | files and programs |", "|---|---|---|", *rows, ""])
