"""The check files, read without importing them: each check's marker, words and fixtures. Runs on the controller."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleetcheck.records import TIERS

Functions = Mapping[str, ast.FunctionDef]
_SENTENCE = re.compile(r"(?<=[^.\s]{2}[.!?])\s+")


@dataclass(frozen=True)
class Source:
    """One check file as parsed. path: as shown; own: its functions; inherited: those of the conftest files above it."""

    path: str
    tree: ast.Module
    own: Functions
    inherited: Functions = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One check. statement: what holds on a healthy node; advice: what to do otherwise; fixtures: all it reaches;
    functions: its own and those of its fixtures that stand in check files."""

    name: str
    file: str
    line: int
    words: Mapping[str, Any]
    statement: str
    advice: str
    fixtures: tuple[str, ...]
    functions: tuple[ast.FunctionDef, ...] = field(repr=False)
    source: Source = field(repr=False)

    @property
    def tiers(self) -> tuple[str, ...]:
        """The tiers it belongs to."""
        return tuple(self.words.get("tiers", TIERS))


def shipped_checks() -> Path:
    """The folder of the checks that come with fleetcheck, in a checkout and in an installed package."""
    package = Path(__file__).resolve().parent
    installed = package / "checks"
    return installed if installed.is_dir() else package.parent / "checks"


def read(root: Path) -> list[Entry]:
    """Every check below a folder, file by file. Raises SyntaxError or OSError on a file that cannot be read."""
    return [entry for source in _sources(root) for entry in _entries(source)]


def names(roots: Iterable[Path]) -> set[str]:
    """The names of all checks below these folders."""
    functions = (function for root in roots for source in _sources(root) for function in source.own.values())
    return {function.name for function in functions if _words(function) is not None}


def _sources(root: Path) -> Iterator[Source]:
    parsed: dict[Path, Functions] = {}
    for path in sorted(root.rglob("test_*.py")):
        shown = path.relative_to(root.parent).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
        yield Source(shown, tree, _functions(tree), _inherited(path, root, parsed))


def _functions(tree: ast.Module) -> Functions:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _inherited(path: Path, root: Path, parsed: dict[Path, Functions]) -> Functions:
    """Fixtures of every conftest.py from the root down to the file's folder; the nearest wins."""
    found: dict[str, ast.FunctionDef] = {}
    folders = [folder for folder in reversed(path.parents) if folder.is_relative_to(root)]
    for conftest in (folder / "conftest.py" for folder in folders):
        if conftest not in parsed:
            parsed[conftest] = _functions(ast.parse(conftest.read_text(encoding="utf-8"))) if conftest.is_file() else {}
        found.update(parsed[conftest])
    return found


def _entries(source: Source) -> Iterator[Entry]:
    everywhere = _used(source.tree.body)
    for function in source.own.values():
        words = _words(function)
        if words is None:
            continue
        reached, functions = _reached(function, source, everywhere)
        statement, advice = split(ast.get_docstring(function) or "")
        yield Entry(function.name, source.path, function.lineno, words, statement, advice, reached, functions, source)


def _words(function: ast.FunctionDef) -> Mapping[str, Any] | None:
    """The words of ``@pytest.mark.check(…)``; None for any other function."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.check":
            return {word.arg: _literal(word.value) for word in decorator.keywords if word.arg}
    return None


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ast.unparse(node)


def _used(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """The fixtures that ``pytest.mark.usefixtures(…)`` names in module-level marks or decorators."""
    marks = [node for node in nodes if isinstance(node, (ast.Assign, ast.Call))]
    calls = [call for mark in marks for call in ast.walk(mark) if isinstance(call, ast.Call)]
    return tuple(str(word.value) for call in calls if ast.unparse(call.func) == "pytest.mark.usefixtures"
                 for word in call.args if isinstance(word, ast.Constant))


def _reached(
    check: ast.FunctionDef, source: Source, everywhere: tuple[str, ...],
) -> tuple[tuple[str, ...], tuple[ast.FunctionDef, ...]]:
    """Every fixture a check depends on, nearest first, and the functions of check files behind them."""
    known = {**source.inherited, **source.own}
    waiting = [*_parameters(check), *_used(check.decorator_list), *everywhere]
    reached: dict[str, None] = {}
    functions = [check]
    while waiting:
        name = waiting.pop(0)
        if name in reached:
            continue
        reached[name] = None
        if name in known:
            functions.append(known[name])
            waiting += _parameters(known[name])
    return tuple(reached), tuple(functions)


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]


def split(docstring: str) -> tuple[str, str]:
    """A check's docstring as (healthy statement, what to do).

    >>> split("ECC is on, i.e. enabled. nvidia-smi -e 1, then reset the GPU.")
    ('ECC is on, i.e. enabled.', 'nvidia-smi -e 1, then reset the GPU.')
    """
    text = " ".join(docstring.split())
    statement, *advice = _SENTENCE.split(text, maxsplit=1)
    return statement, "".join(advice)
