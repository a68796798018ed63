"""A refused description in one line: where in the file, what was found, what was expected."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line (from 1) of a YAML text where the value under a path of keys begins; of the deepest part of it that exists.

    >>> line_of("a: 1\\nb:\\n  c: [x,\\n   y]\\n", ("b", "c", 1))
    4
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return 0
    line = 0
    for step in path:
        found = _step(node, step)
        if found is None:
            break
        line, node = found
    return line


def _step(node: Any, step: str | int) -> tuple[int, Any] | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(step):
                return key.start_mark.line + 1, value
    elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step].start_mark.line + 1, node.value[step]
    return None


def located(file: Path | None, text: str, path: Sequence[str | int], problem: str) -> str:
    """``sandbox.yaml:14: sandbox.nodes.sim-03.busy: …`` (without file and line where they are not known)."""
    where = ".".join(str(step) for step in path)
    if file is None:
        return f"{where}: {problem}"
    line = line_of(text, path)
    return f"{file}:{line}: {where}: {problem}" if line else f"{file}: {where}: {problem}"


def close_to(word: str, words: Iterable[str]) -> str:
    """``; did you mean 'gpu-lost'?``, or the words to choose from when none is close."""
    known = sorted(words)
    near = difflib.get_close_matches(word, known, 3, 0.6)
    if near:
        return f"; did you mean {' or '.join(repr(name) for name in near)}?"
    return f"; expected one of {', '.join(known)}"


def first_problem(refused: ValidationError, model: type[BaseModel]) -> tuple[tuple[str | int, ...], str]:
    """Path and sentence of the first thing pydantic refused."""
    problem = refused.errors(include_url=False)[0]
    path = tuple(step for step in problem["loc"] if step != "[key]" and not _is_model_name(step))
    if problem["type"] == "extra_forbidden":
        return path, f"unknown key {path[-1]!r}{close_to(str(path[-1]), _keys(model, path[:-1]))}"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    shown = "" if problem["type"] == "value_error" else f", not {problem['input']!r:.60}"
    return path, f"{message[0].lower()}{message[1:]}{shown}"


def _is_model_name(step: str | int) -> bool:
    """Whether pydantic put the name of a union's member here; keys of a description never look like one."""
    return isinstance(step, str) and step[:1].isupper() and step.endswith(("Description", "Answer", "Override"))


def _keys(model: type[BaseModel], path: Sequence[str | int]) -> list[str]:
    """The keys allowed in the model at a path, found through its field annotations."""
    for step in path:
        field = model.model_fields.get(str(step)) if isinstance(step, str) else None
        if field is None:
            continue
        model = _inner_model(field.annotation) or model
    return [field.alias or name for name, field in model.model_fields.items()]


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    found = (_inner_model(argument) for argument in getattr(annotation, "__args__", ()))
    return next((model for model in found if model is not None), None)
