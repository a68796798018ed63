"""Backend ``file``: a list of nodes out of service, one a line, that a site's own tools read. Runs on the controller.

``NODES REASON``: a node or a range, then why. Lines of other people, and comments, stay as they are, byte for byte.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from fleetcheck.isolation.mark import read
from fleetcheck.isolation.standing import BackendError, Standing
from fleetcheck.nodeset import unfold
from fleetcheck.run import write_atomically

MOST_BYTES = 8 << 20


class FileList:
    """The list in one file. It knows every node."""

    name = "file"

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    def read(self, nodes: Collection[str]) -> Mapping[str, Standing]:
        """A node that no line names is in service."""
        listed = self._listed()
        return {node: listed.get(node, Standing("not listed")) for node in nodes}

    def isolate(self, node: str, reason: str, seen: Standing) -> None:
        """Add a line."""
        self._rewrite(lambda lines: [*lines, f"{node} {reason}"])

    def release(self, node: str, seen: Standing) -> None:
        """Remove our line."""
        self._rewrite(lambda lines: [line for line in lines if line.strip().split(maxsplit=1) != [node, seen.reason]])

    def shown(self, kind: str, node: str, reason: str) -> str:
        """The line."""
        return f"{'add to' if kind == 'isolate' else 'remove from'} {self.path}: {node} {reason}"

    def _listed(self) -> dict[str, Standing]:
        """Standings by the lines. A node that two lines name, or a range, is somebody else's as well, and so not ours."""
        reasons: dict[str, list[str]] = defaultdict(list)
        for names, reason in _entries(self.path, self._lines()):
            for name in names:
                reasons[name].append(reason if len(names) == 1 or not read(reason) else f"in a range: {reason}")
        return {name: Standing("listed", True, _decisive(listed)) for name, listed in reasons.items()}

    def _lines(self) -> list[str]:
        try:
            raw = self.path.read_bytes() if self.path.exists() else b""
            if len(raw) > MOST_BYTES:
                raise BackendError(f"{self.path}: {len(raw)} bytes are no list of nodes")
            return raw.decode().split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise BackendError(f"{self.path}: cannot be read: {error}") from None

    def _rewrite(self, change: Callable[[list[str]], list[str]]) -> None:
        lines = change(_trimmed(self._lines()))
        try:
            mode = self.path.stat().st_mode & 0o777 if self.path.exists() else 0o644
            write_atomically(self.path, "".join(f"{line}\n" for line in lines))
            self.path.chmod(mode)
        except OSError as error:
            raise BackendError(f"{self.path}: cannot be written: {error.strerror}") from None


def _decisive(reasons: list[str]) -> str:
    """The one reason, or of several the first that is not ours."""
    return reasons[0] if len(reasons) == 1 else next((reason for reason in reasons if not read(reason)), "listed more than once")


def _trimmed(lines: list[str]) -> list[str]:
    return lines[:-1] if lines and not lines[-1] else lines


def _entries(path: Path, lines: list[str]) -> Iterator[tuple[tuple[str, ...], str]]:
    for number, line in enumerate(lines, 1):
        words = line.split(maxsplit=1)
        if not words or words[0].startswith("#"):
            continue
        try:
            yield unfold(words[0]), words[1].strip() if len(words) > 1 else ""
        except ValueError as error:
            raise BackendError(f"{path}:{number}: {error}; correct the line") from None
