"""Runs on the node: kernel log text taken apart into records, as /dev/kmsg and ``dmesg -r`` write it."""

import re
from typing import Any, List, NamedTuple, Optional, Tuple

_HEAD = re.compile(r"(\d+),(\d+),(\d+),[^;]*;(.*)", re.DOTALL)
_RAW = re.compile(r"<(\d+)>\[ *(\d+\.\d+)\] ?(.*)", re.DOTALL)
_ESCAPE = re.compile(r"(?:\\x[0-9a-f]{2})+")


class Record(NamedTuple):
    """level: facility * 8 + priority; seconds: since boot, or an absent leaf."""

    level: int
    sequence: Optional[int]
    seconds: Any
    text: str


def parse(text: str) -> Tuple[List[Record], int]:
    """Records of /dev/kmsg and how many lines are none. A line without a head goes on with the record before it; one that
    starts with a space is the device's dictionary (Documentation/ABI/testing/dev-kmsg)."""
    records: List[Record] = []
    unreadable = 0
    for line in text.split("\n"):
        head = _HEAD.match(line)
        if head:
            level, sequence, micros = int(head.group(1)), int(head.group(2)), int(head.group(3))
            records.append(Record(level, sequence, micros / 1e6, unescaped(head.group(4))))
        elif line and not line.startswith(" "):
            unreadable += not continued(records, line)
    return records, unreadable


def raw_dmesg(text: str) -> Tuple[List[Record], int]:
    """Records of ``dmesg -r``: ``<level>[seconds] text``."""
    records: List[Record] = []
    unreadable = 0
    for line in text.split("\n"):
        head = _RAW.match(line)
        if head:
            records.append(Record(int(head.group(1)), None, float(head.group(2)), head.group(3)))
        elif line:
            unreadable += not continued(records, line)
    return records, unreadable


def continued(records: List[Record], line: str) -> bool:
    """Add a line to the latest record; False when there is none."""
    if records:
        records[-1] = records[-1]._replace(text=records[-1].text + "\n" + line.strip())
    return bool(records)


def unescaped(text: str) -> str:
    """The text with the device's \\xNN put back."""
    return _ESCAPE.sub(lambda found: bytes.fromhex(found.group(0).replace("\\x", "")).decode("utf-8", "replace"), text)
