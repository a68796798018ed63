"""Node names as ClusterShell writes them: ranges unfolded and folded, selections with ``,`` union, ``!`` difference,
``&`` intersection and ``@group``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from math import prod

from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

MAX_NODES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}\Z")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+)(?:/(\d+))?)?\Z")
_ENDS = re.compile(r"(?<=[\[,])(\d{1,18})-(\d{1,18})(?=[\],/])")
_EXAMPLE = " such as 'n[01-32]'"
_TERM = re.compile(r"([,!&]*)((?:\[[^\]]*\]?|[^,!&\[])*)")


def is_name(text: str) -> bool:
    """Whether this may name a node: letters, digits, dots, dashes, underscores; 253 at most.

    >>> is_name("rack12-n07"), is_name("-oProxyCommand=x"), is_name("a;b")
    (True, False, False)
    """
    return bool(_NAME.match(text))


def unfold(text: str) -> tuple[str, ...]:
    """The names this range stands for; raises ValueError with a sentence for people.

    >>> unfold("n[08-10/2,15]")
    ('n08', 'n10', 'n15')
    """
    if _size(text) > MAX_NODES:
        raise ValueError(f"range {_quoted(text)} names more than {MAX_NODES:,} nodes; expected a fleet")
    try:
        names = tuple(NodeSet(text, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        raise ValueError(_bad_range(text)) from None
    bad = next((name for name in names if not is_name(name)), None if names else text)
    if bad is not None:
        raise ValueError(f"node name {_quoted(bad)} is not allowed; expected letters, digits, dots, dashes and "
                         "underscores, at most 253, the first a letter or digit")
    return names


def _quoted(text: str) -> str:
    """The text as Python quotes it, cut where it would fill the terminal."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def _bad_range(text: str) -> str:
    """Why a range is refused, with the right form where the wrong one is known.

    >>> _bad_range("node-[1:30]")
    "bad range 'node-[1:30]'; expected a ClusterShell range: 'node-[1-30]'"
    """
    right = next((right for right in (_from_ansible(text), _in_order(text), _padded(text)) if right != text), "")
    return f"bad range {_quoted(text)}; expected a ClusterShell range{f': {_quoted(right)}' if right else _EXAMPLE}"


def _from_ansible(text: str) -> str:
    return re.sub(r"\[(\d+):(\d+)(?::(\d+))?\]", lambda m: f"[{m[1]}-{m[2]}{'/' + m[3] if m[3] else ''}]", text)


def _in_order(text: str) -> str:
    return _ENDS.sub(lambda m: f"{m[2]}-{m[1]}" if int(m[1]) > int(m[2]) else m[0], text)


def _padded(text: str) -> str:
    return _ENDS.sub(lambda m: f"{m[1].zfill(len(m[2]))}-{m[2]}" if m[1].startswith("0") else m[0], text)


def _size(text: str) -> int:
    """An upper bound on how many names a range stands for, without unfolding it.

    >>> _size("n[1-3,7]x[01-10/2],m")
    20
    """
    return prod(sum(map(_length, group.split(","))) for group in _BRACKETS.findall(text))


def _length(part: str) -> int:
    match = _RANGE.match(part.strip())
    if not match or not match[2]:
        return 1
    if len(match[1]) > 18 or len(match[2]) > 18:
        return MAX_NODES + 1
    return max(int(match[2]) - int(match[1]), 0) // max(int(match[3] or 1), 1) + 1


def fold(names: Iterable[str]) -> str:
    """Names as one range: ``sim-[02,07]``.

    >>> fold(["sim-07", "sim-02"])
    'sim-[02,07]'
    """
    listed = list(names)
    try:
        return str(NodeSet.fromlist(listed, resolver=RESOLVER_NOGROUP))
    except NodeSetException:
        return ",".join(listed)


def choose(text: str, names: Sequence[str], groups: Mapping[str, Iterable[str]]) -> set[str]:
    """The names a selection stands for, evaluated from left to right; raises ValueError on an unknown node or group.

    >>> sorted(choose("n[1-4],!n3,@b", ["n1", "n2", "n3", "n4", "n5"], {"b": ["n5"]}))
    ['n1', 'n2', 'n4', 'n5']
    """
    known, chosen, position = frozenset(names), set[str](), 0
    text = re.sub(r"\s+", "", text)
    while position < len(text):
        match = _TERM.match(text, position)
        if match is None or match.end() == position or not match[2]:
            raise ValueError(f"bad selection {_quoted(text)}; expected node ranges joined by , ! or &")
        chosen = _apply(match[1], chosen, _operand(match[2], known, groups))
        position = match.end()
    return chosen


def _apply(operator: str, left: set[str], right: set[str]) -> set[str]:
    if operator in ("", ","):
        return left | right
    if operator in ("!", ",!"):
        return left - right
    if operator in ("&", ",&"):
        return left & right
    raise ValueError(f"bad selection operator {operator!r}; expected one of , ! &")


def _operand(text: str, known: frozenset[str], groups: Mapping[str, Iterable[str]]) -> set[str]:
    if text.startswith("@"):
        return set(group_names(text[1:], groups))
    names = unfold(text)
    unknown = [name for name in names if name not in known]
    if unknown:
        near = suggestion(unknown[0], known) if len(unknown) == 1 else ""
        raise ValueError(f"unknown node{'s' if len(unknown) > 1 else ''} {fold(unknown)}; "
                         f"expected nodes of the inventory ({_sample(known)}){near}")
    return set(names)


def group_names(group: str, groups: Mapping[str, Iterable[str]]) -> Iterable[str]:
    """The names in a group; raises ValueError listing the groups when there is no such one."""
    if group not in groups:
        listed = ", ".join(sorted(groups)[:20]) or "none"
        raise ValueError(f"unknown group {_quoted(group)}; expected one of: {listed}{suggestion(group, groups)}")
    return groups[group]


def suggestion(word: str, known: Iterable[str]) -> str:
    """`` (did you mean 'address'?)`` when a known word is near, else nothing."""
    near = get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _sample(known: frozenset[str]) -> str:
    folded = fold(sorted(known))
    return folded if len(folded) <= 120 else f"{folded[:117]}..."
