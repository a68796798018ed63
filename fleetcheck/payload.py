"""Node code as bytes: a reproducible zip of ``fleetcheck.node`` and ``pynvml``, and the bootstrap that starts it."""

from __future__ import annotations

import functools
import importlib.util
import io
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

NODE = Path(__file__).parent / "node"
BOOTSTRAP = NODE / "bootstrap.py"
LOADS = ("fleetcheck/node/loads/", "fleetcheck/node/supervisor/")
RANKS = ("fleetcheck/node/ranks/", "fleetcheck/node/supervisor/__init__.py", "fleetcheck/node/supervisor/kernel_lines.py")
ABOUT_LOADS = ("load_start", "load_poll", "load_end")
ABOUT_RANKS = ("rank_ready", "rank_run")
"""The collectors that import what LOADS and RANKS hold."""
EPOCH = (1980, 1, 1, 0, 0, 0)
PACKAGE = b'"""fleetcheck, as far as it runs on the node."""\n'


@functools.cache
def payload(loads: bool = True, ranks: bool = True) -> bytes:
    """The archive; the same bytes wherever the same sources are. loads: with what exercises a node; ranks: with what exercises several
    together; reading a node does without both."""
    archive = io.BytesIO()
    wanted = (*(LOADS if loads else ()), *(RANKS if ranks else ()))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for name, source in sorted(_members()):
            if name.startswith(wanted) or not name.startswith((*LOADS, *RANKS)):
                zipped.writestr(_entry(name), source, zipfile.ZIP_DEFLATED, 9)
    return archive.getvalue()


def payload_for(collectors: Iterable[str]) -> bytes:
    """The archive that holds what these collectors need: each node gets it once a probe."""
    asked = set(collectors)
    return payload(loads=not asked.isdisjoint(ABOUT_LOADS), ranks=not asked.isdisjoint(ABOUT_RANKS))


@functools.cache
def bootstrap() -> bytes:
    """The text that ``python3 -c`` runs first on the node."""
    return BOOTSTRAP.read_bytes()


def block(content: bytes) -> bytes:
    """As bootstrap.receive() takes it: ten digits of length, then the content."""
    return b"%010d%s" % (len(content), content)


def _members() -> Iterator[tuple[str, bytes]]:
    yield "fleetcheck/__init__.py", PACKAGE
    yield "pynvml.py", _binding().read_bytes()
    for path in NODE.rglob("*.py"):
        yield f"fleetcheck/node/{path.relative_to(NODE).as_posix()}", path.read_bytes()


def _binding() -> Path:
    """Where nvidia-ml-py lies, without importing it."""
    found = importlib.util.find_spec("pynvml")
    if found is None or found.origin is None:
        raise FileNotFoundError("pynvml is not installed; expected the package nvidia-ml-py beside fleetcheck")
    return Path(found.origin)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry
