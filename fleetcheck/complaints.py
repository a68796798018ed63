"""What pydantic found wrong with a YAML file, said as one line: file, line, key, what was expected."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ValidationError

from fleetcheck.nodeset import suggestion
from fleetcheck.yamlfile import Document, InventoryError, Keys, one_line

ELSEWHERE = {
    "user": "ssh: {user: …}", "port": "ssh: {port: …}", "identity_file": "ssh: {identity_file: …}",
    "known_hosts": "ssh: {known_hosts: …}", "jump": "ssh: {jump: …}", "config_file": "ssh: {config_file: …}",
}
"""Keys that people put one level too high, and where they belong."""


def complaint(error: ValidationError, model: type[BaseModel], documents: Sequence[Document]) -> InventoryError:
    """The first error in file order, and how many more there are. documents: the file, then those it extends."""
    details = error.errors(include_url=False)
    found = sorted((_located(detail, model, documents) for detail in details), key=itemgetter(0))
    more = len(found) - 1
    return InventoryError(found[0][1] + (f" (and {more} more error{'s' if more > 1 else ''})" if more else ""))


def _located(detail: Any, model: type[BaseModel], documents: Sequence[Document]) -> tuple[tuple[bool, int, int], str]:
    """Where to sort it, and the line. A missing key comes last: often it is there, misspelt, and that is said first."""
    keys: Keys = tuple(key for key in detail["loc"] if key != "[key]")
    index, document = nearest(keys, documents)
    line = document.line(keys)
    return (detail["type"] == "missing", index, line), f"{document.path}:{line}: {one_line(_said(detail, keys, model))}"


def nearest(keys: Keys, documents: Sequence[Document]) -> tuple[int, Document]:
    """The document that gives these keys, or the longest beginning of them; the first of equals."""
    for length in range(len(keys), -1, -1):
        for index, document in enumerate(documents):
            if keys[:length] in document.lines:
                return index, document
    return 0, documents[0]


def _said(detail: Any, keys: Keys, model: type[BaseModel]) -> str:
    key = str(keys[-1]) if keys else ""
    if detail["type"] == "extra_forbidden":
        return f"unknown key {key!r}{_under(keys)}; expected {_expected(key, known_keys(model, keys[:-1]))}"
    if detail["type"] == "missing":
        return f"key {key!r} is missing{_under(keys)}; expected {key}: …"
    if detail["type"] in ("model_type", "mapping_type", "dict_type", "model_attributes_type"):
        return f"{dotted(keys)} is {_shown(detail['input'])}; expected a mapping of keys"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if detail["type"] == "value_error":
        return f"{dotted(keys)}: {message}"
    than = "a value " if message.startswith(("less ", "greater ")) else ""
    return f"{dotted(keys)} is {_shown(detail['input'])}; expected {than}{message}"


def dotted(keys: Keys) -> str:
    """Keys as people point at them: ``nodes.rack12-n07.state``."""
    return ".".join(str(key) for key in keys) or "the file"


def _under(keys: Keys) -> str:
    return f" under {dotted(keys[:-1])}" if len(keys) > 1 else ""


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    return "empty" if value is None else repr(value if len(str(value)) <= 60 else f"{str(value)[:57]}...")


def _expected(key: str, known: Sequence[str]) -> str:
    if key in ELSEWHERE and "ssh" in known:
        return ELSEWHERE[key]
    return f"one of: {', '.join(known)}{suggestion(key, known)}"


def known_keys(model: type[BaseModel], keys: Keys) -> list[str]:
    """The keys allowed at this place of the file."""
    current, inside = model, False
    for key in keys:
        if inside or isinstance(key, int) or key not in current.model_fields:
            current, inside = (current if inside else _of_any_key(current) or current), False
            continue
        annotation = current.model_fields[key].annotation
        current, inside = _model_in(annotation) or current, _is_container(annotation)
    return [field.alias or name for name, field in current.model_fields.items()]


def _of_any_key(model: type[BaseModel]) -> type[BaseModel] | None:
    """What a model holds under keys of any name."""
    return _model_in(get_type_hints(model)["__pydantic_extra__"]) if model.model_config.get("extra") == "allow" else None


def _arguments(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) is not None or isinstance(annotation, types.UnionType) else ()


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for part in _arguments(annotation) if (model := _model_in(part))), None)


def _is_container(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _is_container(get_args(annotation)[0])
    return isinstance(origin, type) and issubclass(origin, (Mapping, tuple, list))
