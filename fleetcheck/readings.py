"""What each collector reads on a node, and with which privilege, from ``READS`` in its source. Runs on the controller.

The source is read by ast: the controller never imports node code. A privilege is alternatives joined by `` or ``:
``any user``, ``root``, ``group NAME``, ``SYSCTL=VALUE``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

ANYBODY = "any user"
FOLDER = Path(__file__).resolve().parent / "node" / "collectors"


@dataclass(frozen=True)
class Reading:
    """what: a path (``*`` for any part, a folder for all below it) or a program's call; privilege: who may."""

    what: str
    privilege: str

    def concerns(self, path: str) -> bool:
        """Whether this is the reading of a path or program as a node names it."""
        pattern = self.what
        return fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}/*") or path.split()[0] == pattern.split()[0]


@dataclass(frozen=True)
class Collector:
    """A collector as the node code lists it. seconds: its own deadline there."""

    name: str
    module: str
    seconds: float
    reads: tuple[Reading, ...]


def collectors(folder: Path = FOLDER) -> Mapping[str, Collector]:
    """Every collector by name, in the order of the node code."""
    listed = _assigned(_parsed(folder, "__init__"), "COLLECTORS")
    rows = [_row(row) for row in listed.elts] if isinstance(listed, ast.Tuple) else []
    return {name: Collector(name, module, seconds, tuple(dict.fromkeys(_reads(folder, module, set()))))
            for name, module, seconds in rows}


def _row(row: ast.expr) -> tuple[str, str, float]:
    """``("time", clock.collect, 45)`` as its name, module and seconds."""
    if not isinstance(row, ast.Tuple) or len(row.elts) != 3:
        raise ValueError(f"not a row of COLLECTORS: {ast.unparse(row)}")
    name, collect, seconds = row.elts
    return ast.literal_eval(name), ast.unparse(collect).partition(".")[0], float(ast.literal_eval(seconds))


def _reads(folder: Path, module: str, seen: set[str]) -> Iterator[Reading]:
    """The readings of a module and of the modules beside it that it imports."""
    seen.add(module)
    tree = _parsed(folder, module)
    given = _assigned(tree, "READS")
    for what, privilege in ast.literal_eval(given) if given is not None else ():
        yield Reading(what, privilege)
    for other in _beside(tree, folder):
        if other not in seen:
            yield from _reads(folder, other, seen)


def _beside(tree: ast.Module, folder: Path) -> list[str]:
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fleetcheck.node.collectors"):
            own = node.module.removeprefix("fleetcheck.node.collectors").removeprefix(".")
            found += [own] if own else [name.name for name in node.names]
    return [name for name in found if (folder / f"{name}.py").is_file()]


def _parsed(folder: Path, module: str) -> ast.Module:
    path = folder / f"{module}.py"
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _assigned(tree: ast.Module, name: str) -> ast.expr | None:
    """The value of a top-level ``NAME = …``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return node.value
    return None
