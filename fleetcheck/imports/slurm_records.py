"""Slurm's own words read as records: slurm.conf, topology.conf, and what ``scontrol show node|partition|topology|config`` prints. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

BACKSLASH = "\\"
HEADINGS = ("Configuration data as of", "Slurmctld(", "Cgroup Support", "Account Gather", "MPI Plugins")
"""Lines of scontrol that tell nothing."""
STARTS = ("nodename", "partitionname", "switchname", "blockname", "nodeset")
_KEY = re.compile(r"(?<!\S)([A-Za-z][A-Za-z0-9_/:.-]*)\s?=\s?(?=\S|$)")
_CONFIG = re.compile(r"([A-Za-z][A-Za-z0-9_]*)\s+=\s?(.*)\Z")
_OS = re.compile(r"(?<!\S)OS=")
_NONE = frozenset({"", "(null)", "n/a", "none"})


@dataclass(frozen=True)
class Record:
    """One record. kind: its first key in lower case, ``setting`` for a plain one; keys: lower case → value; line: where it begins."""

    kind: str
    name: str
    keys: Mapping[str, str]
    line: int

    def get(self, *names: str) -> str:
        """The first of these keys that says something, else empty."""
        return next((value for name in names if (value := self.keys.get(name, "")).lower() not in _NONE), "")


def records(text: str) -> Iterator[Record]:
    """The records of a file, in order. Raises ValueError with ``LINE: what is wrong``."""
    for number, line in _logical(text):
        pairs = _pairs(line)
        if not pairs:
            if line.split()[0].lower() == "include":
                yield Record("include", line.partition(" ")[2].strip(), {}, number)
                continue
            raise ValueError(f"{number}: {line!r:.60} is no KEY=VALUE")
        kind = pairs[0][0].lower()
        keys = {name.lower(): value for name, value in pairs}
        yield Record(kind, pairs[0][1], keys, number) if kind in STARTS else Record("setting", "", keys, number)


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, joined where one is continued: by a backslash, as in slurm.conf, or by an indent, as scontrol prints."""
    held, begun = "", 0
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        said = _uncommented(raw).rstrip()
        said = "" if said.startswith(HEADINGS) else said
        if said and held and (held.endswith("\\") or (said[0].isspace() and not _starts(said))):
            held = f"{held.rstrip(BACKSLASH).rstrip()} {said.strip()}"
            continue
        if held:
            yield begun, held.rstrip(BACKSLASH).rstrip()
        held, begun = said.strip(), number


def _uncommented(line: str) -> str:
    """The line without its comment; a kernel's version, which scontrol prints and slurm.conf has not, holds such a sign itself.

    >>> _uncommented("NodeName=n1 # odd"), _uncommented("NodeName=n1 OS=Linux 6.8 #31-Ubuntu SMP Partitions=gpu")
    ('NodeName=n1 ', 'NodeName=n1 OS=Linux 6.8 #31-Ubuntu SMP Partitions=gpu')
    """
    said = line.partition("#")[0]
    return line if _OS.search(said) else said


def _starts(line: str) -> bool:
    return line.strip().partition("=")[0].strip().lower() in STARTS


def _pairs(line: str) -> list[tuple[str, str]]:
    """Keys and values; a value reaches to the next key, so that ``OS=Linux 6.1 x86`` is whole.

    >>> _pairs('NodeName=n[1-4] OS=Linux 6.1 Reason="a b"')
    [('NodeName', 'n[1-4]'), ('OS', 'Linux 6.1'), ('Reason', 'a b')]
    """
    setting = _CONFIG.match(line)
    if setting:
        return [(setting[1], setting[2].strip())]
    found = list(_KEY.finditer(line))
    if not found or found[0].start():
        return []
    ends = [each.start() for each in found[1:]] + [len(line)]
    return [(each[1], line[each.end() : end].strip().strip('"')) for each, end in zip(found, ends, strict=True)]
