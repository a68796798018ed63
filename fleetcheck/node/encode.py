"""Runs on the node: what collectors return, as JSON that any reader takes."""

import json
import math
from typing import Any


def encode(value: Any) -> bytes:
    """JSON in ASCII. NaN and infinities become absent leaves, undecodable text is escaped, anything but data raises."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode("ascii")


def plain(value: Any) -> Any:
    """The value in JSON's own types; TypeError for a type that is none of them."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"absent": "not a number: %r" % value}
    if isinstance(value, (str, bytes)):
        return text(value)
    if isinstance(value, dict):
        return {key if isinstance(key, int) else text(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    raise TypeError("a collector returned a %s, which is no data" % type(value).__name__)


def text(value: Any) -> str:
    """Text without lone surrogates, which no UTF-8 file can hold.

    >>> text("a\\udcff")
    'a\\\\udcff'
    """
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(value).encode("utf-8", "backslashreplace").decode("utf-8")
