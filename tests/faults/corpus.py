"""The fault corpus: ``corpus/*.yaml`` read, and each entry turned into injections with other parts and other words every time.

An entry says what is wrong with a node in the language of docs/sandbox.md, which checks must fail, and what the verdict must be. In
it ``$word`` stands for what differs between injections: a GPU, a link, a pid, or a word that the entry's ``vary`` or ``cases`` name.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import hardwareparts
import wording
import yaml

FOLDER = Path(__file__).parent / "corpus"
OVERRIDES = ("nvml", "kmsg", "previous_boot", "files", "statvfs", "commands", "faults", "busy", "unreachable")
OWN = ("fails", "consequences", "severity", "action", "names", "xids", "parts")
"""What a case may say of its injection otherwise than its entry; any other key of a case is a word."""
GPUS = {"h100-sxm5-8": 8, "h200-sxm-8": 8, "a100-sxm4-80-8": 8, "b200-sxm-8": 8, "gb200-nvl72-tray": 4}
ANY_GPU = ("h100-sxm5-8", "h100-sxm5-8", "h200-sxm-8", "a100-sxm4-80-8", "b200-sxm-8", "gb200-nvl72-tray")
"""Profiles an entry is injected into when it names none: the commonest twice."""
ANY_HOST = (*ANY_GPU, "cpu-host")
WORD = re.compile(r"\$(\w+)")
VERDICTS = {"fatal": "failed", "degraded": "degraded", "warn": "healthy", "silent": "healthy"}


@dataclass(frozen=True)
class Fault:
    """One entry. fails: checks that must fail; consequences: others of the same cause that may; names: what the finding must
    name; xids, parts: kernel lines and programs' answers made by wording and hardwareparts; inventory: further settings of the
    node; pending: its check does not exist yet; silent: a look-alike, of which nothing degraded or failed may come."""

    id: str
    component: str
    fails: Sequence[str] = ()
    consequences: Sequence[str] = ()
    severity: str = "silent"
    action: str = "none"
    names: str = ""
    profiles: Sequence[str] = ANY_GPU
    times: int = 2
    vary: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    cases: Sequence[Mapping[str, Any]] = ()
    xids: Sequence[Mapping[str, Any]] = ()
    parts: Mapping[str, Any] = field(default_factory=dict)
    inventory: Mapping[str, Any] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)
    pending: bool = False
    file: str = ""

    @property
    def silent(self) -> bool:
        """Whether it only looks like a fault."""
        return self.severity == "silent"


@dataclass(frozen=True)
class Injection:
    """One node with one fault. fault: the entry with this injection's words in place; overrides: for the sandbox section."""

    fault: Fault
    number: int
    profile: str
    overrides: Mapping[str, Any]

    @property
    def name(self) -> str:
        """For a test's id."""
        return f"{self.fault.id}-{self.number}"


def faults(folder: Path = FOLDER) -> list[Fault]:
    """Every entry of the corpus; ValueError names a mistake with its file."""
    return [_fault(entry, path.stem) for path in sorted(folder.glob("*.yaml")) for entry in yaml.safe_load(path.read_text()) or []]


def _fault(entry: dict[str, Any], file: str) -> Fault:
    known = {*Fault.__dataclass_fields__, *OVERRIDES} - {"overrides", "file"}
    if unknown := set(entry) - known:
        raise ValueError(f"{file}.yaml: {entry.get('id')}: unknown {', '.join(sorted(unknown))}")
    overrides = {name: entry.pop(name) for name in OVERRIDES if name in entry}
    if entry.get("profiles") == "any host":
        entry["profiles"] = ANY_HOST
    for name in ("fails", "consequences", "profiles"):
        if isinstance(entry.get(name), str):
            entry[name] = entry[name].split()
    return Fault(**entry, overrides=overrides, file=file)


def injections(fault: Fault, seed: int) -> list[Injection]:
    """As often as the entry has cases, and at least ``times``; the same seed gives the same ones."""
    shuffled = random.Random(f"{seed}/{fault.id}")
    profiles = list(dict.fromkeys(shuffled.sample(fault.profiles, len(fault.profiles))))
    turns = {word: shuffled.sample(list(values), len(values)) for word, values in fault.vary.items()}
    count = max(fault.times, len(fault.cases))
    return [_injection(fault, number, profiles[number % len(profiles)], turns, seed) for number in range(count)]


def _injection(fault: Fault, number: int, profile: str, turns: Mapping[str, Sequence[Any]], seed: int) -> Injection:
    rng = random.Random(f"{seed}/{fault.id}/{number}")
    case = dict(fault.cases[number % len(fault.cases)]) if fault.cases else {}
    profile = case.pop("profile", profile)
    words = {**wording.words(rng, GPUS.get(profile, 0)), **{word: values[number % len(values)] for word, values in turns.items()}}
    own = {name: value for name, value in case.items() if name in OWN}
    overrides = {**fault.overrides, **{name: value for name, value in case.items() if name in OVERRIDES}}
    words |= {name: value for name, value in case.items() if name not in own and name not in OVERRIDES}
    for name in ("fails", "consequences"):
        if isinstance(own.get(name), str):
            own[name] = own[name].split()
    injected = replace(fault, **own)
    lines = [wording.xid_line(rng, **filled(xid, words)) for xid in injected.xids]
    described = filled(overrides, words)
    if lines:
        described["kmsg"] = [*described.get("kmsg", []), *lines]
    for name, said in filled(dict(injected.parts), words).items():
        for kind, answers in _part(name, said).items():
            described[kind] = {**answers, **described.get(kind, {})}
    return Injection(replace(injected, names=str(filled(injected.names, words))), number, profile, described)


def _part(name: str, said: Any) -> dict[str, Any]:
    """What the programs that read a part of hardware print, by a function of hardwareparts or wording."""
    tell = getattr(hardwareparts, name, None) or getattr(wording, name)
    return tell(*said) if isinstance(said, list) else tell(**said)


def filled(value: Any, words: Mapping[str, Any]) -> Any:
    """A description with its words in place; a text that is one word alone takes that word's type."""
    if isinstance(value, str):
        alone = WORD.fullmatch(value)
        return filled(words[alone[1]], words) if alone and alone[1] in words else WORD.sub(lambda word: _word(word, words), value)
    if isinstance(value, list):
        return [filled(part, words) for part in value]
    return {filled(name, words): filled(part, words) for name, part in value.items()} if isinstance(value, dict) else value


def _word(found: re.Match[str], words: Mapping[str, Any]) -> str:
    if found[1] not in words:
        raise ValueError(f"${found[1]}: no such word; there are {', '.join(sorted(words))}")
    return str(filled(words[found[1]], words))


def chosen(known: Sequence[Fault], seed: int, share: int = 1) -> Iterator[Injection]:
    """All injections; with a share of n, one injection of every n-th entry, another n-th with the next seed. The healthy nodes of an
    NVLink domain are always there: a faulty one is told by them."""
    for place, fault in enumerate(each for each in known if not each.pending):
        found = injections(fault, seed)
        if share == 1 or (fault.silent and "nvlink_domain" in fault.inventory):
            yield from found
        elif (place + seed) % share == 0:
            yield found[(seed // share) % len(found)]


def targets(known: Sequence[Fault]) -> set[str]:
    """Every check that some entry, or one of its cases, must make fail."""
    cases = itertools.chain.from_iterable(each.cases for each in known)
    own = [name for each in known for name in each.fails]
    return {*own, *(name for case in cases for name in str(case.get("fails", "")).split())}
