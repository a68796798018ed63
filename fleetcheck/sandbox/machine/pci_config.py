"""The configuration space of a PCI function: identity, link and access control (PCI Express Base, 7.5 and 7.7)."""

from __future__ import annotations

from fleetcheck.sandbox.machine.pci_function import BRIDGE, Function

SIZE = 4096
EXPRESS = 0x60
ERRORS, ACCESS_CONTROL = 0x100, 0x150
SOURCE_VALIDATION_AND_MORE = 0x5F


def config(function: Function) -> str:
    """All 4,096 bytes as text that is written back with ``surrogateescape``. Access control of bridges is off."""
    octets = bytearray(SIZE)
    bridge = function.class_code == BRIDGE
    vendor, device, sub_vendor, sub_device = function.ids
    _put(octets, 0x00, 2, vendor, device, 0x0406, 0x0010)
    _put(octets, 0x08, 1, function.revision, *function.class_code.to_bytes(3, "little"))
    octets[0x0E] = int(bridge)
    if not bridge:
        _put(octets, 0x2C, 2, sub_vendor, sub_device)
    octets[0x34] = EXPRESS
    _express(octets, function, 4 if bridge and not function.place.bridges else 6 if bridge else 0)
    _put(octets, ERRORS, 4, 0x0001 | 2 << 16 | (ACCESS_CONTROL << 20 if bridge else 0))
    if bridge:
        _put(octets, ACCESS_CONTROL, 4, 0x000D | 1 << 16)
        _put(octets, ACCESS_CONTROL + 4, 2, SOURCE_VALIDATION_AND_MORE, 0)
    return octets.decode("utf-8", "surrogateescape")


def _express(octets: bytearray, function: Function, kind: int) -> None:
    """The PCI Express capability: device type, what the link can do, how it runs."""
    _put(octets, EXPRESS, 2, 0x0010, 2 | kind << 4)
    _put(octets, EXPRESS + 0x0C, 4, function.generation | function.width << 4)
    _put(octets, EXPRESS + 0x12, 2, function.now | function.width << 4)


def _put(octets: bytearray, at: int, width: int, *values: int) -> None:
    for place, value in enumerate(values):
        octets[at + place * width:at + (place + 1) * width] = value.to_bytes(width, "little")
