"""Hardware error records in the kernel log: firmware-first (APEI/GHES, BERT) blocks and raw machine checks. Controller side; pure.

Severities of a block, from drivers/firmware/efi/cper.c: corrected < recoverable < fatal. "Recoverable" means uncorrected: data was
lost, the machine went on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fleetcheck.facts.bus_id import bus_id
from fleetcheck.facts.kernel_event import Event, Record, printable

_LINE = re.compile(r"(?:\{(?P<block>\d+)\})?\[Hardware Error\]:\s*(?P<said>.*)")
_SEVERITY = re.compile(r"event severity:\s*(?P<word>[\w ,]+)")
_SECTION = re.compile(r"section_type:\s*(?P<word>[\w /-]+)")
_WHERE = re.compile(r"(?:fru_text|DIMM location):\s*(?P<where>.+)|device_id:\s*(?P<device>[0-9a-f:.]+)", re.IGNORECASE)
_CHECK = re.compile(
    r"(?:\[Hardware Error\]|EDAC \S+ MC\d+): CPU (?P<cpu>\d+): Machine Check(?: Exception| Event)?: \w+ Bank (?P<bank>\d+): "
    r"(?:0x)?(?P<status>[0-9a-f]{8,16})\b",
    re.I,
)

UNCORRECTED = 1 << 61
"""Bit UC of IA32_MCi_STATUS."""
_GRADES = {
    "memory": ("dram", "fatal", "replace", "dimm"),
    "pcie": ("pcie", "fatal", "isolate", "pci"),
    "processor": ("cpu", "fatal", "isolate", "cpu"),
    "": ("cpu", "fatal", "isolate", "node"),
}


@dataclass
class _Block:
    """The lines of one firmware record."""

    first: Record
    severity: str = ""
    section: str = ""
    where: str = ""

    def take(self, said: str) -> None:
        """Note what one line says; the first word on each subject counts."""
        severity, section, where = _SEVERITY.search(said), _SECTION.search(said), _WHERE.search(said)
        self.severity = self.severity or (severity["word"].strip() if severity else "")
        self.section = self.section or (section["word"].strip().lower() if section else "")
        if where and (where["where"] or not self.where):
            self.where = (where["where"] or bus_id(where["device"]) or "").strip()


def blocks(records: Iterable[Record]) -> tuple[list[Event], list[Record]]:
    """The events of all firmware records, one each, and the records that belong to none."""
    open_blocks: dict[str, _Block] = {}
    others: list[Record] = []
    earlier = False
    for record in records:
        found = _LINE.search(record.text)
        earlier = earlier or "BERT: Error records from previous boot" in record.text
        if not found or not (found["block"] or (earlier and _is_firmware(found["said"]))):
            others.append(record)
            continue
        open_blocks.setdefault(found["block"] or "earlier boot", _Block(record)).take(found["said"])
    return [_event(number, block) for number, block in open_blocks.items() if block.severity], others


def _is_firmware(said: str) -> bool:
    return bool(_SEVERITY.search(said) or _SECTION.search(said) or _WHERE.search(said))


def _event(number: str, block: _Block) -> Event:
    subject = next((word for word in ("memory", "pcie", "processor") if word in block.section.replace(" ", "")), "")
    component, severity, action, kind = _GRADES[subject]
    if block.severity.startswith(("corrected", "info")):
        severity, action = "warn", "observe"
    elif subject == "pcie" and block.severity == "recoverable":
        severity, action = "degraded", "reboot"
    elif number == "earlier boot":
        severity, action = "degraded", "isolate"
    text = f"firmware record, {block.severity}: {block.section or 'section not named'}{', ' + block.where if block.where else ''}"
    return Event(
        f"apei-{subject or 'other'}-{block.severity.split()[0]}",
        component,
        severity,
        action,
        printable(text),
        block.first.seconds,
        kind,
        block.where,
        note="from the boot before" if number == "earlier boot" else "",
    )


def machine_check(record: Record) -> Event | None:
    """A raw machine check, judged by its status register; None when the record is none.

    >>> machine_check(Record(9.0, "mce: [Hardware Error]: CPU 2: Machine Check: 0 Bank 7: 8c00004000010090")).severity
    'warn'
    """
    found = _CHECK.search(record.text)
    if not found:
        return None
    status = int(found["status"], 16)
    component, severity, action, kind = _GRADES["memory" if _is_memory(status) else "processor"]
    word = "uncorrected" if status & UNCORRECTED else "corrected"
    if word == "corrected":
        severity, action = "warn", "observe"
    return Event(
        f"mce-{word}",
        component,
        severity,
        action,
        printable(record.text),
        record.seconds,
        kind,
        f"CPU {found['cpu']} bank {found['bank']}",
    )


def _is_memory(status: int) -> bool:
    """Memory controller errors have the compound code 0000 0000 1MMM CCCC (Intel SDM vol. 3B, 17.9)."""
    return status & 0xEF80 == 0x0080
