"""YAML files, read so that mistakes can be pointed at: every key keeps its line, none comes twice, no type is guessed.

A plain scalar stays the text that was typed (``010`` is no octal 8, ``on`` no boolean); who knows the type converts it.
``values`` converts the few parts that nobody types: only what YAML 1.2 calls a number, a boolean or null.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Keys = tuple[str | int, ...]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in
                  ("str", "int", "float", "bool", "null", "timestamp", "map", "seq", "value", "merge"))
_MAX_DEPTH = 40
_MAX_ALIASED = 10_000
_MAX_BYTES = 64 * 2**20
_NULL = re.compile(r"(?:~|null|Null|NULL|)\Z")
_INTEGER = re.compile(r"[-+]?[0-9](?:_?[0-9])*\Z")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?\Z")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}


class InventoryError(Exception):
    """What is wrong with an inventory or a profile, in one line: ``FILE:LINE: what is wrong; what was expected``."""


@dataclass(frozen=True)
class Document:
    """A YAML file: its text, its content (``data``) and the line of every key."""

    path: Path
    text: str
    data: Any
    lines: Mapping[Keys, int]

    def line(self, keys: Keys) -> int:
        """The line of these keys, or of the nearest that encloses them."""
        return next((self.lines[keys[:n]] for n in range(len(keys), -1, -1) if keys[:n] in self.lines), 1)

    def where(self, *keys: str | int) -> str:
        """``FILE:LINE`` of these keys, as error messages begin."""
        return f"{self.path}:{self.line(keys)}"

    def error(self, keys: Keys, message: str) -> InventoryError:
        """The error that says this about these keys."""
        return InventoryError(f"{self.where(*keys)}: {one_line(message)}")


def one_line(text: str) -> str:
    """Text with every control character escaped, so that a hostile name cannot forge a line.

    >>> one_line("a\\nb")
    'a\\\\nb'
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def read(path: Path, what: str, typed: frozenset[str] = frozenset(), tags: frozenset[str] = frozenset()) -> Document:
    """The YAML mapping in this file. what: ``inventory`` or ``profile``, for messages; typed: the top-level keys whose
    scalars become numbers, booleans and null; all others stay text. tags: further ones whose scalars are text. Raises InventoryError."""
    text = _text(path, what)
    root = _compose(path, text)
    if root is None:
        raise InventoryError(f"{path}:1: the {what} is empty; expected a YAML mapping")
    walk = _Walk(path, typed, _TAGS | tags)
    data = walk.convert(root, (), _as_text)
    if not isinstance(data, dict):
        raise InventoryError(f"{path}:1: the {what} is a {_kind(data)}; expected a mapping of keys")
    return Document(path, text, data, walk.lines)


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "single value"


def _text(path: Path, what: str) -> str:
    try:
        raw = _bytes(path, what)
    except OSError as error:
        raise InventoryError(f"{path}: cannot read the {what}: {error.strerror}; expected a YAML file") from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        byte = f"byte {raw[error.start]:#04x}"
        raise InventoryError(f"{path}:{line}: {byte} is not UTF-8; expected a YAML file in UTF-8") from None


def _bytes(path: Path, what: str) -> bytes:
    with path.open("rb") as file:
        raw = file.read(_MAX_BYTES + 1)
    if len(raw) > _MAX_BYTES:
        raise InventoryError(f"{path}: the {what} is over {_MAX_BYTES >> 20} MiB; expected a file that people can read")
    return raw


def _compose(path: Path, text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line, mark.column) if mark else (0, 0)
        said = f"not valid YAML at column {column + 1}: {_problem(error, text, line)}"
        raise InventoryError(f"{path}:{line + 1}: {said}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        code = error.character if isinstance(error.character, int) else ord(error.character)
        raise InventoryError(f"{path}:{line}: not valid YAML: character U+{code:04X} is not allowed") from None
    except RecursionError:
        raise InventoryError(f"{path}:1: nested too deep; expected at most {_MAX_DEPTH} levels") from None


def _problem(error: yaml.MarkedYAMLError, text: str, line: int) -> str:
    lines = text.splitlines()
    blank = re.match(r"\s*", lines[line] if line < len(lines) else "")
    hint = "; indent with spaces, not tabs" if blank and "\t" in blank.group() else ""
    context = f"{error.context}, " if error.context else ""
    return one_line(f"{context}{error.problem}{hint}")


class _Walk:
    """One pass over a composed document: converts it, notes lines, refuses repeated keys, foreign tags, alias bombs."""

    def __init__(self, path: Path, typed: frozenset[str], tags: frozenset[str] = _TAGS) -> None:
        self.path = path
        self.tags = tags
        self.typed = typed
        self.lines: dict[Keys, int] = {(): 1}
        self.seen: set[int] = set()
        self.aliased = 0

    def convert(self, node: yaml.Node, keys: Keys, scalar: Callable[[str, bool], Any]) -> Any:
        self._admit(node, keys)
        if isinstance(node, yaml.MappingNode):
            return {key: self.convert(value, (*keys, key), values if not keys and key in self.typed else scalar)
                    for key, value in self._pairs(node, keys)}
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*keys, index), scalar) for index, item in enumerate(node.value)]
        return scalar(str(node.value), not getattr(node, "style", None))

    def _item(self, node: yaml.Node, keys: Keys, scalar: Callable[[str, bool], Any]) -> Any:
        self.lines[keys] = node.start_mark.line + 1
        return self.convert(node, keys, scalar)

    def _pairs(self, node: yaml.MappingNode, keys: Keys) -> list[tuple[str, yaml.Node]]:
        first: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(line, "this key is no plain name; expected NAME: value, quoted if it has a bracket")
            if key.value in first:
                before = first[key.value]
                raise self._error(line, f"key {key.value!r} is given twice, first in line {before}; expected it once")
            first[key.value] = self.lines[(*keys, key.value)] = line
        return [(key.value, value) for key, value in node.value]

    def _admit(self, node: yaml.Node, keys: Keys) -> None:
        line = node.start_mark.line + 1
        self.aliased += id(node) in self.seen
        self.seen.add(id(node))
        if node.tag not in self.tags:
            raise self._error(line, f"tag {node.tag!r} is not allowed; expected plain YAML")
        if len(keys) > _MAX_DEPTH:
            raise self._error(line, f"nested over {_MAX_DEPTH} deep (an alias to itself?); expected a plain mapping")
        if self.aliased > _MAX_ALIASED:
            raise self._error(line, f"aliases repeat more than {_MAX_ALIASED} values; expected the values themselves")

    def _error(self, line: int, message: str) -> InventoryError:
        return InventoryError(f"{self.path}:{line}: {one_line(message)}")


def _as_text(text: str, plain: bool) -> str | None:
    return None if plain and _NULL.match(text) else text


def values(text: str, plain: bool) -> Any:
    """What YAML 1.2 means by this scalar; quoted ones are text.

    >>> values("0x1F", True), values("010", True), values("on", True), values("1:30", True), values("7", False)
    (31, 10, 'on', '1:30', '7')
    """
    if not plain:
        return text
    if _NULL.match(text):
        return None
    if _INTEGER.match(text):
        return int(text)
    if _HEXADECIMAL.match(text):
        return int(text, 16)
    return float(text) if _FLOAT.match(text) else _BOOLEANS.get(text, text)
