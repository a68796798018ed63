"""A node's standard output: finds the one framed reply in whatever else is there. Everything in it may be a lie."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from fleetcheck.quoting import escaped, quoted
from fleetcheck.records import Answer

OUTPUT_LIMIT = 8 << 20
STDERR_BYTES = 4096
DEPTH = 48
DIGITS = 40
_LENGTH_DIGITS = 12


class FrameError(Exception):
    """Output that holds no usable reply. kind: too-large, truncated or garbled, as in records.Failure."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Intake:
    """Takes both streams of one exchange as they come, and keeps no more of them than a reply may have."""

    def __init__(self, nonce: str) -> None:
        self.nonce = nonce
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.done = False
        self.error: FrameError | None = None
        self._begin = re.compile(rb"<<fleetcheck %s ([0-9]{1,%d})>>\n" % (nonce.encode(), _LENGTH_DIGITS))
        self._end = b"\n<<end %s>>" % nonce.encode()
        self._body: tuple[int, int] | None = None
        self._searched = 0

    @property
    def announced(self) -> bool:
        """Whether a reply has begun."""
        return self._body is not None

    def out(self, chunk: bytes) -> None:
        """More of standard output; ``done`` is true once nothing more is wanted."""
        self.stdout += chunk
        if self._body is None:
            self._look_for_begin()
        if self._body is not None and not self.done:
            self._look_for_end(*self._body)
        if not self.done and len(self.stdout) > OUTPUT_LIMIT + STDERR_BYTES:
            self._refuse("too-large", f"more than {OUTPUT_LIMIT:,} bytes without a reply, beginning {quoted(self.stdout)}")

    def err(self, chunk: bytes) -> None:
        """More of standard error; its tail is kept."""
        self.stderr += chunk
        del self.stderr[:-STDERR_BYTES]

    def body(self) -> bytes:
        """The reply. Raises FrameError when there is none, or not the whole."""
        if self.error is not None:
            raise self.error
        if self._body is None:
            raise FrameError("garbled", f"no reply in {len(self.stdout):,} bytes of output")
        start, length = self._body
        if not self.done:
            raise FrameError("truncated", f"it ended after {len(self.stdout) - start:,} of {length:,} bytes")
        return bytes(self.stdout[start:start + length])

    def progress(self) -> str:
        """How far it came, for messages."""
        if self._body is None:
            return f"{len(self.stdout):,} bytes of output, no reply among them"
        start, length = self._body
        return f"{min(len(self.stdout) - start, length):,} of {length:,} bytes of the reply"

    def _look_for_begin(self) -> None:
        found = self._begin.search(self.stdout, self._searched)
        self._searched = max(0, len(self.stdout) - 100)
        if found is None:
            return
        self._body = found.end(), int(found[1])
        self._searched = found.end()
        if int(found[1]) > OUTPUT_LIMIT:
            self._refuse("too-large", f"a reply of {int(found[1]):,} bytes; the limit is {OUTPUT_LIMIT:,}")

    def _look_for_end(self, start: int, length: int) -> None:
        """The end mark lies where the length says, and nowhere else."""
        end = self.stdout.find(self._end, max(start, self._searched - len(self._end)))
        self._searched = len(self.stdout)
        if end < 0 and len(self.stdout) >= start + length + len(self._end):
            self._refuse("garbled", f"no end mark after the {length:,} bytes announced")
        elif end >= 0 and end != start + length:
            self._refuse("garbled", f"{end - start:,} bytes of reply where {length:,} were announced")
        elif end >= 0 and self._begin.search(self.stdout, end):
            self._refuse("garbled", "two replies")
        elif end >= 0:
            self.done = True

    def _refuse(self, kind: str, message: str) -> None:
        self.error = FrameError(kind, message)
        self.done = True


def answers(body: bytes) -> dict[str, Answer]:
    """The answers of a reply by collector, the node's ``runtime`` among them. Raises FrameError on anything else."""
    reply = _parsed(body)
    if not isinstance(reply, dict) or not isinstance(reply.get("answers"), dict) or not isinstance(reply.get("runtime"), dict):
        raise FrameError("garbled", f"a reply of another shape: {quoted(body)}")
    found = {name: _answer(name, answer) for name, answer in reply["answers"].items()}
    return {**found, "runtime": Answer(ok=True, data=reply["runtime"])}


def _parsed(body: bytes) -> Any:
    try:
        reply = json.loads(body.decode("utf-8"), parse_constant=_refused, parse_int=_integer, parse_float=_finite)
        return _clean(reply, DEPTH)
    except (ValueError, RecursionError) as error:
        raise FrameError("garbled", f"no JSON as expected ({error!s:.100}): {quoted(body)}") from None


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is no measured value")


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"an integer of {len(digits):,} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"a number beyond all bounds: {digits:.40}")
    return value


def _clean(value: Any, depth: int) -> Any:
    """The value with control characters of its texts escaped; ValueError when it is nested too deeply."""
    if isinstance(value, str):
        return value if value.isprintable() else _visible(value)
    if isinstance(value, (dict, list)) and not depth:
        raise ValueError(f"nested more than {DEPTH} deep")
    if isinstance(value, dict):
        return {_clean(key, 1): _clean(item, depth - 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth - 1) for item in value]
    return value


def _visible(text: str) -> str:
    """Line breaks and tabs stay: files have them."""
    return "".join(c if c in "\n\t" or c.isprintable() else escaped(c) for c in text)


def _answer(name: str, raw: Any) -> Answer:
    kinds = {"ok": bool, "seconds": (int, float), "error": str, "data": Mapping, "metrics": Mapping, "coverage": str}
    if not isinstance(raw, dict) or set(raw) != set(kinds):
        raise FrameError("garbled", f"the answer of {quoted(name, 40)} has another shape")
    if any(not isinstance(raw[key], kind) for key, kind in kinds.items()):  # type: ignore[arg-type]
        raise FrameError("garbled", f"the answer of {quoted(name, 40)} has a field of another type")
    return Answer(**{**raw, "error": escaped(raw["error"])[:2000], "coverage": escaped(raw["coverage"])[:200]})
