"""A kernel log from the lines of a description: records with times, as /dev/kmsg, dmesg and journalctl -k tell them."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

TIMED = re.compile(r"\[ *(\d+)\.(\d{1,6})\] ?")
PRIORITY = re.compile(r"<(\d{1,3})>")
NOTICE_SECONDS = 300.0
"""How long before the run a line without a time of its own was logged."""
STEP_SECONDS = 2.0
DEFAULT_PRIORITY = 6
LEVELS = ("emerg", "alert", "crit", "err", "warn", "notice", "info", "debug")


@dataclass(frozen=True)
class Record:
    """One printk: priority (facility × 8 + level), sequence number, microseconds since boot, text (lines and all)."""

    priority: int
    sequence: int
    microseconds: int
    text: str

    @property
    def seconds(self) -> float:
        """Since boot."""
        return self.microseconds / 1e6


@dataclass(frozen=True)
class Boot:
    """One boot of a node. started: its clock's zero, in seconds since 1970; index: 0, or -1 for the one before."""

    index: int
    boot_id: str
    started: float
    records: Sequence[Record]

    def time(self, record: Record) -> datetime.datetime:
        """When a record was logged, in UTC."""
        return datetime.datetime.fromtimestamp(self.started + record.seconds, datetime.UTC)


def records(lines: Iterable[str], uptime_seconds: float) -> list[Record]:
    """Lines as records in the order of their times; one without ``[seconds.micros]`` was logged minutes before the end.

    >>> [record.microseconds for record in records(["[    1.5] a", "b", "<3>c"], 1000)]
    [1500000, 700000000, 702000000]
    """
    parsed = [_parsed(line) for line in lines]
    untimed = sum(1 for _, microseconds, _ in parsed if microseconds is None)
    notice = min(NOTICE_SECONDS, uptime_seconds / 2)
    step = min(STEP_SECONDS, notice / 2 / max(untimed, 1))
    clock = int((uptime_seconds - notice) * 1e6)
    placed: list[tuple[int, int, str]] = []
    for priority, microseconds, text in parsed:
        placed.append((clock if microseconds is None else microseconds, priority, text))
        clock += int(step * 1e6) if microseconds is None else 0
    placed.sort(key=lambda one: one[0])
    return [Record(priority, number, time, text) for number, (time, priority, text) in enumerate(placed)]


def _parsed(line: str) -> tuple[int, int | None, str]:
    """Priority, time since boot in microseconds if the line carries one, and text; ``<4>[ 12.5] text`` has both."""
    priority = DEFAULT_PRIORITY
    if found := PRIORITY.match(line):
        priority, line = int(found[1]), line[found.end():]
    found = TIMED.match(line)
    if not found:
        return priority, None, line
    return priority, int(found[1]) * 1_000_000 + int(found[2].ljust(6, "0")), line[found.end():]


def kmsg(log: Iterable[Record]) -> str:
    """As /dev/kmsg: ``6,12,5140900,-;text`` and a newline; what is not printable ASCII, and the backslash, as ``\\xNN``
    (Documentation/ABI/testing/dev-kmsg).

    >>> kmsg([Record(6, 0, 1500000, "a\\nb")])
    '6,0,1500000,-;a\\\\x0ab\\n'
    """
    return "".join(f"{one.priority},{one.sequence},{one.microseconds},-;{_escaped(one.text)}\n" for one in log)


def _escaped(text: str) -> str:
    return "".join(
        chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02x}"
        for byte in text.encode("utf-8", "surrogateescape")
    )


def _prefixed(prefix: str, text: str) -> str:
    """Continuation lines indented below the first, as dmesg and journalctl print them."""
    return prefix + text.replace("\n", "\n" + " " * len(prefix)) + "\n"


def dmesg(log: Iterable[Record]) -> str:
    """As dmesg prints without options."""
    return "".join(_prefixed(f"[{one.seconds:12.6f}] ", one.text) for one in log)


def dmesg_raw(log: Iterable[Record]) -> str:
    """As ``dmesg -r``."""
    return "".join(_prefixed(f"<{one.priority}>[{one.seconds:12.6f}] ", one.text) for one in log)


def dmesg_decoded(log: Iterable[Record]) -> str:
    """As ``dmesg -x``."""
    return "".join(_prefixed(f"kern  :{LEVELS[one.priority & 7]:<6}: [{one.seconds:12.6f}] ", one.text) for one in log)


def dmesg_ctime(boot: Boot) -> str:
    """As ``dmesg -T``."""
    return "".join(_prefixed(f"[{boot.time(one):%a %b %e %H:%M:%S %Y}] ", one.text) for one in boot.records)


def dmesg_iso(boot: Boot) -> str:
    """As ``dmesg --time-format iso``."""
    return "".join(
        _prefixed(f"{boot.time(one):%Y-%m-%dT%H:%M:%S},{boot.time(one):%f}+00:00 ", one.text) for one in boot.records
    )


def journal_short(boot: Boot, hostname: str, stamp: str = "%b %d %H:%M:%S") -> str:
    """As ``journalctl -k`` with a timestamp format (short; short-iso has another)."""
    return "".join(_prefixed(f"{boot.time(one):{stamp}} {hostname} kernel: ", one.text) for one in boot.records)


def journal_monotonic(boot: Boot, hostname: str) -> str:
    """As ``journalctl -k -o short-monotonic``."""
    return "".join(_prefixed(f"[{one.seconds:12.6f}] {hostname} kernel: ", one.text) for one in boot.records)


def journal_unix(boot: Boot, hostname: str) -> str:
    """As ``journalctl -k -o short-unix``."""
    return "".join(_prefixed(f"{boot.started + one.seconds:.6f} {hostname} kernel: ", one.text) for one in boot.records)


def journal_json(boot: Boot, hostname: str) -> str:
    """As ``journalctl -k -o json``: one object a record, every value a string."""
    return "".join(json.dumps(_journal_fields(boot, one, hostname)) + "\n" for one in boot.records)


def _journal_fields(boot: Boot, record: Record, hostname: str) -> dict[str, str]:
    realtime = int(boot.started * 1e6) + record.microseconds
    boot_id = boot.boot_id.replace("-", "")
    return {
        "__CURSOR": f"s={boot_id};i={record.sequence:x};b={boot_id};m={record.microseconds:x};t={realtime:x}",
        "__REALTIME_TIMESTAMP": str(realtime),
        "__MONOTONIC_TIMESTAMP": str(record.microseconds),
        "_SOURCE_MONOTONIC_TIMESTAMP": str(record.microseconds),
        "_BOOT_ID": boot_id,
        "_TRANSPORT": "kernel",
        "_HOSTNAME": hostname,
        "PRIORITY": str(record.priority & 7),
        "SYSLOG_FACILITY": str(record.priority >> 3),
        "SYSLOG_IDENTIFIER": "kernel",
        "MESSAGE": record.text,
    }


def journal_boots(boots: Sequence[Boot]) -> str:
    """As ``journalctl --list-boots``: oldest first."""
    stamp = "%a %Y-%m-%d %H:%M:%S UTC"
    rows = ["IDX BOOT ID                          FIRST ENTRY                 LAST ENTRY"]
    for boot in sorted(boots, key=lambda one: one.index):
        ends = [boot.time(record).strftime(stamp) for record in (boot.records[0], boot.records[-1])]
        rows.append(f"{boot.index:>3} {boot.boot_id.replace('-', '')} {ends[0]} {ends[1]}")
    return "\n".join(rows) + "\n"
