"""Inventories of Ansible in INI form: told apart, read as Ansible reads them, and refused with the YAML to write instead. Pure.

Ansible expands ranges in host names only. In a variable (``ansible_host=192.0.2.[31:60]``) a range is literal text: every node of the
line shares one address that does not exist, and a suite that took it would judge the wrong machine, or none, once for each node.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

SECTION = re.compile(r"\[(?P<name>[A-Za-z_][\w.-]*)(?::(?P<kind>children|vars))?\]\s*(?:[#;].*)?$")
_RANGE = re.compile(r"\[(?P<first>\w*):(?P<last>\w+)(?::(?P<step>\d+))?\]")
PORTED = re.compile(r"^(?P<host>(?:\[[^\]]*:[^\]]*\]|[^:\[\]])+):(?P<port>\d{1,5})$")
_VARIABLE = re.compile(r"(?P<name>[\w.]+)=(?P<value>\S*)")
MOST = 100_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of hosts: where, the names it stands for, its port, and its variables as typed."""

    line: int
    names: tuple[str, ...]
    port: int | None
    variables: dict[str, str]


def is_ini(text: str) -> bool:
    """Whether this looks like an inventory of Ansible: its first section header comes before any line of YAML.

    >>> is_ini("[servers]\\nnode-[1:3]\\n"), is_ini("fleet: a\\nnodes: {}\\n"), is_ini("[1, 2]\\n")
    (True, False, False)
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("#", ";"))]
    return any(SECTION.match(line) for line in lines) and not re.match(r"[\w.-]+:(\s|$)", lines[0])


def entries(text: str) -> Iterator[Entry]:
    """The lines that name hosts; those of ``:vars`` and ``:children`` sections do not."""
    kind = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition(" #")[0].strip()
        section = SECTION.match(line)
        if section:
            kind = section["kind"] or ""
        elif line and line[0] not in "#;" and not kind:
            yield _entry(number, line)


def _entry(number: int, line: str) -> Entry:
    name, _, rest = line.partition(" ")
    ported = PORTED.match(name)
    return Entry(number, tuple(expanded(ported["host"] if ported else name)), int(ported["port"]) if ported else None,
                 {found["name"]: found["value"] for found in _VARIABLE.finditer(rest)})


def expanded(pattern: str) -> list[str]:
    """The names a host pattern stands for; both ends count, leading zeros are kept, a third number is the step. Raises ValueError on a
    range that is none, or whose end lies before its begin.

    >>> expanded("n-[08:12:2].dc1"), expanded("evo1[1:1]"), expanded("db-[a:c]")
    (['n-08.dc1', 'n-10.dc1', 'n-12.dc1'], ['evo11'], ['db-a', 'db-b', 'db-c'])
    """
    found = _RANGE.search(pattern)
    if not found:
        return [pattern]
    tails = expanded(pattern[found.end():])
    names = [f"{pattern[: found.start()]}{middle}{tail}" for middle in _middles(found) for tail in tails]
    if len(names) > MOST:
        raise ValueError(f"range {pattern[:80]!r} names more than {MOST:,} hosts")
    return names


def _middles(found: re.Match[str]) -> list[str]:
    first, last, step = found["first"] or "0", found["last"], int(found["step"] or 1)
    if first.isdigit() and last.isdigit() and step and len(last) <= 9 and int(first) <= int(last):
        width = len(first) if first.startswith("0") and len(first) > 1 else 1
        return [str(number).zfill(width) for number in range(int(first), min(int(last), int(first) + MOST * step) + 1, step)]
    letters = string.ascii_letters
    if len(first) == len(last) == 1 and first in letters and last in letters and step and letters.index(first) <= letters.index(last):
        return list(letters[letters.index(first) : letters.index(last) + 1 : step])
    raise ValueError(f"bad range {found[0]!r}")


def refusal(text: str) -> tuple[int, str]:
    """Line and words with which an Ansible inventory is refused: the first literal range, if there is one, else what to write."""
    try:
        for entry in entries(text):
            for name, value in entry.variables.items():
                if _RANGE.search(value):
                    return entry.line, (f"{name}={value} is no range to Ansible but one literal value for {len(entry.names)} "
                                        f"nodes; as YAML: address: '{_clustershell(value)}'")
    except ValueError as problem:
        return 1, f"this is an inventory of Ansible with a {problem}; expected YAML: fleet, nodes, …"
    return 1, "this is an inventory of Ansible; expected YAML: fleet, nodes, … which fleetcheck import ansible makes of it"


def _clustershell(value: str) -> str:
    return _RANGE.sub(lambda m: f"[{m['first'] or 0}-{m['last']}{'/' + m['step'] if m['step'] else ''}]", value)
