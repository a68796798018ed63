"""Runs on the node: short reads that never raise; what cannot be read is an absent leaf with its reason."""

import re
import time
from typing import Any, Callable, Dict, List

from fleetcheck.node.host import Host, absent

SAMPLE_SECONDS = 1.0


def text(host: Host, path: str) -> Any:
    """A file's text without surrounding space."""
    try:
        return host.read(path).strip()
    except OSError as error:
        return absent(error)


def number(host: Host, path: str) -> Any:
    """A file's text as an integer."""
    return as_number(text(host, path), path)


def as_number(value: Any, what: str) -> Any:
    """A text as an integer, decimal or 0x; absent values pass through."""
    if isinstance(value, dict):
        return value
    try:
        return int(value, 0) if value.lower().startswith("0x") else int(value)
    except ValueError:
        return {"absent": "not a number: %s: %.60r" % (what, value)}


def count(host: Host, path: str) -> Any:
    """A counter: an integer of at most 64 bits, never negative."""
    said = number(host, path)
    return said if isinstance(said, dict) or 0 <= said < 1 << 64 else {"absent": "no counter: %s: %d" % (path, said)}


def names(host: Host, folder: str) -> Any:
    """The names in a folder."""
    try:
        return host.list(folder)
    except OSError as error:
        return absent(error)


def numbers(host: Host, folder: str) -> Any:
    """{name: counter} of the files in a folder."""
    found = names(host, folder)
    return found if isinstance(found, dict) else {name: count(host, "%s/%s" % (folder, name)) for name in found}


def last(host: Host, path: str) -> Any:
    """The last word of where a link points: a driver, a PCI address."""
    try:
        return host.link(path).rstrip("/").rpartition("/")[2]
    except OSError as error:
        return absent(error)


def twice(read: Callable[[], Any]) -> Dict[str, Any]:
    """Two samples of growing counters, at least a second apart: {first, second, elapsed_seconds}."""
    first, began = read(), time.monotonic()
    time.sleep(SAMPLE_SECONDS)
    second = read()
    return {"first": first, "second": second, "elapsed_seconds": time.monotonic() - began}


def output(host: Host, argv: List[str], seconds: float) -> Any:
    """{status, stdout, stderr} of a program, or absent."""
    try:
        done = host.run(argv, seconds)
    except OSError as error:
        return absent(error)
    return {"status": done.status, "stdout": done.stdout, "stderr": done.stderr[:500]}


def table(lines: str) -> List[List[str]]:
    """The words of each line that has any."""
    return [line.split() for line in lines.split("\n") if line.strip()]


def uptime(host: Host) -> Any:
    """Seconds since boot: links still train in the first minutes."""
    said = text(host, "/proc/uptime")
    found = said if isinstance(said, dict) else re.match(r"\d{1,10}(?:\.\d+)?(?= |$)", said)
    return found if isinstance(found, dict) else float(found.group(0)) if found else {"absent": "not an uptime: %.60r" % said}
