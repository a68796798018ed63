"""The values an override may hold: growing numbers, text with numbers growing in it, errno, links.

Each validator returns the value in its one canonical shape, or raises ValueError saying what was expected.
"""

from __future__ import annotations

import errno
import os
import shlex
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

STATVFS_NAMES = tuple(name for name in dir(os.statvfs_result) if name.startswith("f_"))


def is_number(value: object) -> bool:
    """An int or float; a bool is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_growing(value: object) -> bool:
    """``{start: 5, per_second: 0.5}``.

    >>> is_growing({"start": 5, "per_second": 0.5}), is_growing({"start": 5})
    (True, False)
    """
    return isinstance(value, Mapping) and set(value) == {"start", "per_second"} and all(map(is_number, value.values()))


def number(value: object) -> Any:
    """A number, or one that grows."""
    if is_number(value) or is_growing(value):
        return value
    raise ValueError(f"expected a number or {{start, per_second}}, not {value!r:.60}")


def text(value: object) -> Any:
    """Text as a string, or ``{text: …, NAME: {start, per_second}}``; a bare number, growing or not, is a line.

    >>> text({"start": 5, "per_second": 1})
    {'text': '{n}\\n', 'n': {'start': 5, 'per_second': 1}}
    """
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value}\n"
    if is_growing(value):
        return {"text": "{n}\n", "n": value}
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        return _template(value)
    raise ValueError(f"expected text, {{start, per_second}} or {{text: …, n: {{…}}}}, not {value!r:.60}")


def _template(value: Mapping[str, Any]) -> Any:
    for name, part in value.items():
        if name != "text" and not is_growing(part):
            raise ValueError(f"{name} in {{text, {name}}}: expected {{start, per_second}}, not {part!r:.60}")
        if name != "text" and f"{{{name}}}" not in value["text"]:
            raise ValueError(f"{name} grows, but the text has no {{{name}}} in it")
    return value if len(value) > 1 else value["text"]


def error(value: object) -> Any:
    """``{errno: EIO}`` with a name of <errno.h>."""
    if isinstance(value, Mapping) and set(value) == {"errno"} and value["errno"] in errno.errorcode.values():
        return value
    raise ValueError(f"expected {{errno: NAME}} with a name of errno.h such as EIO, not {value!r:.60}")


def content(value: object) -> Any:
    """What a file is overridden with: text, ``{errno}``, ``{link: TARGET}``, ``{hang: true}``; None: no such file."""
    if value is None:
        return None
    if isinstance(value, Mapping) and "errno" in value:
        return error(value)
    if isinstance(value, Mapping) and "link" in value:
        return _link(value)
    if isinstance(value, Mapping) and "hang" in value:
        return _hang(value)
    return text(value)


def _link(value: Mapping[str, Any]) -> Any:
    if set(value) == {"link"} and isinstance(value["link"], str) and value["link"]:
        return value
    raise ValueError(f"expected {{link: TARGET}}, not {dict(value)!r:.60}")


def absolute(value: object) -> str:
    """An absolute path without a trailing slash, ``..`` or ``.``.

    >>> absolute("/sys/class/net/")
    '/sys/class/net'
    """
    if not isinstance(value, str) or not value.startswith("/") or ".." in value.split("/"):
        raise ValueError(f"expected an absolute path without '..', not {value!r:.60}")
    return os.path.normpath(value).replace("//", "/")


def filesystem(value: object) -> Any:
    """What os.statvfs tells of a mount: ``{f_bavail: 0, …}``, ``{errno: ESTALE}`` or ``{hang: true}``."""
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"expected names of os.statvfs, {{errno}} or {{hang: true}}, not {value!r:.60}")
    if "errno" in value:
        return error(value)
    if "hang" in value:
        return _hang(value)
    for name, part in value.items():
        if name not in STATVFS_NAMES:
            raise ValueError(f"{name!r} is no name of os.statvfs; expected one of {', '.join(STATVFS_NAMES)}")
        number(part)
    return value


def _hang(value: Mapping[str, Any]) -> Any:
    if dict(value) == {"hang": True}:
        return value
    raise ValueError(f"expected {{hang: true}} alone, not {dict(value)!r:.60}")


def command_name(value: object) -> str:
    """A program and the words its calls contain, as a shell splits them; in one canonical spelling.

    >>> command_name("smartctl /dev/nvme3  -j")
    'smartctl -j /dev/nvme3'
    """
    try:
        words = shlex.split(value) if isinstance(value, str) else []
    except ValueError as problem:
        raise ValueError(f"{value!r}: {problem}") from problem
    if not words or "/" in words[0] or words[0] in {".", ".."}:
        raise ValueError(f"expected a program's name and words of its arguments, not {value!r:.60}")
    return shlex.join([words[0], *sorted(words[1:])])



Number = Annotated[Any, BeforeValidator(number)]
Text = Annotated[Any, BeforeValidator(text)]
Content = Annotated[Any, BeforeValidator(content)]
Filesystem = Annotated[Any, BeforeValidator(filesystem)]
AbsolutePath = Annotated[str, BeforeValidator(absolute)]
CommandName = Annotated[str, BeforeValidator(command_name)]
