"""Xid and SXid lines: their format over driver generations, and what the text behind the number decides. Controller side; pure.

Format: krcReportXid in open-gpu-kernel-modules src/nvidia/src/kernel/gpu/rc/kernel_rc.c prints ``Xid (PCI:dddd:bb:dd): N, ``,
then optionally ``pid=…, name=…, ``, the message, and ``caused by previous Xid M``. Older drivers leave out ``PCI:``; with MIG the
instance follows the address.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from fleetcheck.facts import catalogue
from fleetcheck.facts.bus_id import bus_id
from fleetcheck.facts.kernel_event import Event, Record, printable

_XID = re.compile(r"NVRM: Xid(?: \((?P<where>[^)]*)\))?:\s*(?P<code>\d{1,4})\b,?\s*(?P<detail>.*)", re.DOTALL)
_OWNER = re.compile(r"pid='?(?P<pid>[^,']*)'?(?:, name=(?P<name>[^,]*))?(?:, channel 0x[0-9a-f]+)?(?:, |$)")
_CAUSE = re.compile(r"caused by previous Xid (\d{1,4})\b")
_SXID = re.compile(r"SXid \((?P<where>[^)]*)\):\s*(?P<code>\d{1,6})\b,?\s*(?P<detail>.*)", re.DOTALL)
_NONFATAL = re.compile(r"\bnon-?fatal\b", re.IGNORECASE)
_FATAL = re.compile(r"(?<!non-)\bfatal\b", re.IGNORECASE)
_TARGET = re.compile(r"changed from\b.*?\bto 0x([0-9a-f]+)", re.IGNORECASE)
_REGISTERS = re.compile(r"\(((?:0x[0-9a-f]+[,\s]*)+)\)", re.IGNORECASE)

IGNORABLE_LINK_BITS = 1 << 0 | 1 << 23 | 1 << 30
"""Bits of the first NVLink register that say nothing about the link's health (vendor's Xid 74 table)."""

RECOVERY_ACTIONS: Mapping[int, tuple[str, str]] = {
    1: ("fatal", "reset-gpu"),
    2: ("fatal", "reboot"),
    3: ("degraded", "reset-gpu"),
    4: ("fatal", "reset-gpu"),
    6: ("fatal", "reset-gpu"),
    7: ("fatal", "reboot"),
}
"""nvmlDeviceGpuRecoveryAction_t: GPU reset, node reboot, drain P2P, drain and reset, bus reset, system reboot."""


@dataclass(frozen=True, slots=True)
class Xid:
    """An Xid line taken apart. slot: the GPU's PCI address; cause: the earlier Xid it names, or 0; relayed: a program quoted it."""

    code: int
    slot: str
    pid: str
    process: str
    detail: str
    cause: int
    relayed: bool


def parse(text: str) -> Xid | None:
    """An Xid line taken apart; None when the text is none.

    >>> parse("NVRM: Xid (PCI:0018:01:00): 145, pid=87, name=ray::WorkerDict, RLW_RXPIPE Nonfatal")
    Xid(code=145, slot='0018:01:00.0', pid='87', process='ray::WorkerDict', detail='RLW_RXPIPE Nonfatal', cause=0, relayed=False)
    """
    found = _XID.search(text)
    if not found:
        return None
    owner = _OWNER.match(found["detail"])
    detail = found["detail"][owner.end() :] if owner else found["detail"]
    cause = _CAUSE.search(detail)
    return Xid(
        int(found["code"]),
        bus_id(found["where"] or ""),
        owner["pid"] if owner else "",
        (owner["name"] or "") if owner else "",
        detail.strip(),
        int(cause[1]) if cause else 0,
        found.start() > 0,
    )


def event(record: Record) -> Event | None:
    """The event of an Xid or SXid record; None when it is neither."""
    xid = parse(record.text)
    return _xid_event(xid, record) if xid else _sxid_event(record)


def _xid_event(xid: Xid, record: Record) -> Event:
    code = xid.cause or xid.code
    entry = catalogue.xids().entry(code)
    plain = Event(
        f"xid-{code}",
        entry.component,
        entry.severity,
        entry.action,
        printable(record.text),
        record.seconds,
        "gpu",
        xid.slot,
        entry.name,
        cause=xid.cause,
        repeat=entry.repeat,
    )
    if xid.relayed:
        return watched(plain, "quoted by another program, not the driver's own line")
    return plain if xid.cause else _BY_TEXT.get(code, _as_listed)(plain, xid)


def watched(event: Event, why: str) -> Event:
    """The event as a warning to observe, with the reason."""
    return replace(event, severity="warn", action="observe", note=why)


def _as_listed(event: Event, xid: Xid) -> Event:
    return event


def _by_link_registers(event: Event, xid: Xid) -> Event:
    """Xid 74: registers that only show ignorable bits are no link error."""
    found = _REGISTERS.search(xid.detail)
    registers = [int(word, 16) for word in re.findall(r"0x([0-9a-f]+)", found[1], re.IGNORECASE)] if found else []
    if registers and any(registers) and not registers[0] & ~IGNORABLE_LINK_BITS and not any(registers[1:]):
        return watched(event, "only ignorable bits are set in its registers")
    return event


def _by_word(event: Event, xid: Xid) -> Event:
    """Xid 144 to 150: the word Fatal or Nonfatal decides; a line with neither is taken seriously, but not isolated for."""
    if _NONFATAL.search(xid.detail):
        return watched(event, "")
    return (
        event
        if _FATAL.search(xid.detail)
        else replace(event, severity="degraded", note="says neither Fatal nor Nonfatal")
    )


def _by_reset_request(event: Event, xid: Xid) -> Event:
    """Xid 94: one contained error needs a reset only when the line asks for it (``RST: Yes``)."""
    return replace(event, repeat=1) if re.search(r"(?<!D-)RST: Yes", xid.detail) else event


def _by_recovery(event: Event, xid: Xid) -> Event:
    """Xid 154: the action changed *to* decides; to none, it ends what was pending."""
    found = _TARGET.search(xid.detail)
    if not found:
        return replace(event, severity="degraded", note="names no target action")
    target = int(found[1], 16)
    if target == 0:
        return replace(watched(event, "recovery done"), cleared=True)
    severity, action = RECOVERY_ACTIONS.get(target, ("degraded", "observe"))
    return replace(event, severity=severity, action=action)


_BY_TEXT: Mapping[int, Callable[[Event, Xid], Event]] = {
    74: _by_link_registers,
    94: _by_reset_request,
    154: _by_recovery,
    **dict.fromkeys(range(144, 151), _by_word),
}


def _sxid_event(record: Record) -> Event | None:
    found = _SXID.search(record.text)
    if not found or re.match(r"Severity \d|Data \{", found["detail"]):  # detail lines of the event before them
        return None
    known, code = catalogue.sxids(), int(found["code"])
    if code in known.corrected or _NONFATAL.search(found["detail"]):
        grade = known.nonfatal
    else:
        grade = known.fatal if _FATAL.search(found["detail"]) else known.unstated
    return Event(
        f"sxid-{code}",
        known.component,
        grade.severity,
        grade.action,
        printable(record.text),
        record.seconds,
        "nvswitch",
        bus_id(found["where"]),
    )
