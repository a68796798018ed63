"""lspci, over the same functions as /sys/bus/pci."""

from __future__ import annotations

from fleetcheck.sandbox.machine.commands.answers import Answers, says, spelled
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.pci import SPEEDS
from fleetcheck.sandbox.machine.pci_function import (
    ACCELERATOR,
    BRIDGE,
    ETHERNET,
    INFINIBAND,
    NVME,
    NVSWITCH,
    Function,
    bridges,
    functions,
)

_CLASSES = {ACCELERATOR: "3D controller", NVSWITCH: "Bridge", INFINIBAND: "Infiniband controller",
            ETHERNET: "Ethernet controller", NVME: "Non-Volatile memory controller", BRIDGE: "PCI bridge"}


def commands(node: Node) -> Answers:
    """All functions, brief or verbose, and each alone by its address."""
    base = node.base
    every = sorted([*bridges(base), *functions(base)], key=lambda one: one.address)
    brief, numeric = "".join(map(_brief, every)), "".join(map(_numeric, every))
    told = {one.address: _verbose(one) for one in every}
    return {
        "lspci": says(brief), "lspci -n": says(numeric),
        **spelled(("lspci -v", "lspci -vv", "lspci -vvv"), says("\n".join(told.values()))),
        **{f"lspci -s {address}": says(text) for address, text in told.items()},
    }


def _brief(function: Function) -> str:
    revision = f" (rev {function.revision:02x})" if function.revision else ""
    return f"{function.address} {_CLASSES[function.class_code]}: {function.title}{revision}\n"


def _numeric(function: Function) -> str:
    vendor, device, _, _ = function.ids
    kind = f"{function.class_code >> 8:04x}"
    return f"{function.address} {kind}: {vendor:04x}:{device:04x} (rev {function.revision:02x})\n"


def _verbose(function: Function) -> str:
    """As lspci -vvv. Bridges have access control off, as on bare metal, so that peers reach each other directly."""
    can, now = _speed(function.generation), _speed(function.now)
    reduced = "" if function.now == function.generation else " (downgraded)"
    return (f"{_brief(function)}\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR-\n"
            f"\tNUMA node: {function.place.socket}\n"
            f"\t\tLnkCap:\tPort #0, Speed {can}, Width x{function.width}, ASPM not supported\n"
            f"\t\tLnkSta:\tSpeed {now}{reduced}, Width x{function.width}\n"
            f"{_ACCESS_CONTROL if function.class_code == BRIDGE else ''}\tKernel driver in use: {function.driver}\n")


def _speed(generation: int) -> str:
    """``32GT/s`` of a generation."""
    return SPEEDS[generation].removesuffix(" PCIe").replace(".0 ", "").replace(" ", "")


_ACCESS_CONTROL = (
    "\tCapabilities: [150 v1] Access Control Services\n"
    "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
    "\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n"
)
