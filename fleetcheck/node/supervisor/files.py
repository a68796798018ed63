"""Runs on the node: files of a load: JSON replaced as a whole, lines appended whole or not at all."""

import json
import os
from typing import Any, Dict, Iterator, List, Tuple

PENDING_BYTES = 8 << 20
BLOCK = 1 << 20


def write_json(path: str, value: Any) -> None:
    """Replace a file; a reader sees the old text or the new one, also after a power cut."""
    draft = "%s.%d" % (path, os.getpid())
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        _write(descriptor, json.dumps(value, separators=(",", ":")).encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    os.rename(draft, path)


def read_json(path: str) -> Dict[str, Any]:
    """The mapping in a file; {} when there is none."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read().decode())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class Lines:
    """A file of JSON lines. What a full disk refuses is kept in memory and written later; ``lost`` counts the rest."""

    def __init__(self, path: str, limit: int = 0) -> None:
        """limit: bytes after which the file is put aside as PATH.1; 0 for none."""
        self.path = path
        self.limit = limit
        self.pending = bytearray()
        self.lost = 0

    def add(self, *values: Any) -> None:
        """Append each as a line."""
        for value in values:
            line = json.dumps(value, separators=(",", ":")).encode() + b"\n"
            if len(self.pending) + len(line) > PENDING_BYTES:
                self.lost += 1
            else:
                self.pending += line
        self.flush()

    def flush(self) -> None:
        """Write what is pending, if the disk takes it."""
        if not self.pending:
            return
        try:
            self._append(bytes(self.pending))
        except OSError:
            return
        self.pending.clear()

    def _append(self, text: bytes) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            if self.limit and size > self.limit:
                os.rename(self.path, self.path + ".1")
                os.close(descriptor)
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
                descriptor, size = os.open(self.path, flags, 0o600), 0
            try:
                _write(descriptor, text)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)


def _write(descriptor: int, text: bytes) -> None:
    view = memoryview(text)
    while view:
        view = view[os.write(descriptor, view):]


def lines_after(path: str, known: int, room: int) -> Tuple[List[Any], int, bool]:
    """The lines behind the first ``known``: (values, bytes they take, whether more are left that did not fit).

    A line still being written is left for later; one that is no JSON counts, as None, so that positions hold.
    """
    taken: List[Any] = []
    size = 0
    for number, line in enumerate(_whole_lines(path)):
        if number < known:
            continue
        if size + len(line) > room:
            return taken, size, True
        taken.append(_value(line))
        size += len(line)
    return taken, size, False


def _value(line: bytes) -> Any:
    try:
        return json.loads(line.decode())
    except ValueError:
        return None


def _whole_lines(path: str) -> Iterator[bytes]:
    try:
        file = open(path, "rb", BLOCK)
    except OSError:
        return
    with file:
        for line in file:
            if line.endswith(b"\n"):
                yield line
