"""Runs on the node: kernel records from the systemd journal, in any locale: ``journalctl -o json``."""

import errno
import json
from typing import Any, Dict, List, Tuple

from fleetcheck.node.collectors.records import Record
from fleetcheck.node.host import Host

READS = (
    ("journalctl -k", "root or group systemd-journal"),
)

LIMIT = 64 << 20


def read(host: Host, which: List[str], seconds: float) -> Tuple[List[Record], int]:
    """The kernel records of one boot and how many lines were not readable; OSError when the journal does not have it."""
    done = host.run(["journalctl", "-k"] + which + ["-o", "json", "--no-pager", "-q"], seconds, limit=LIMIT)
    if done.status != 0:
        raise OSError(
            errno.ENODATA,
            done.stderr.strip()[:200] or "exit status %d" % done.status,
            "journalctl " + " ".join(["-k"] + which),
        )
    return parse(done.stdout)


def parse(text: str) -> Tuple[List[Record], int]:
    """One JSON object a line; a line that is none is counted."""
    records: List[Record] = []
    unreadable = 0
    for line in filter(None, text.split("\n")):
        try:
            records.append(record(json.loads(line)))
        except (ValueError, TypeError, KeyError):
            unreadable += 1
    return records, unreadable


def record(entry: Dict[str, Any]) -> Record:
    """A journal entry as a kernel record; MESSAGE is a list of bytes when it is not UTF-8."""
    message = entry["MESSAGE"]
    text = bytes(message).decode("utf-8", "replace") if isinstance(message, list) else str(message)
    micros = int(entry.get("_SOURCE_MONOTONIC_TIMESTAMP") or entry["__MONOTONIC_TIMESTAMP"])
    level = int(entry.get("SYSLOG_FACILITY", 0)) * 8 + int(entry.get("PRIORITY", 6))
    return Record(level, None, micros / 1e6, text)
