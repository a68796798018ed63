"""Where devices sit on PCI: addresses, the bridges above them, their socket."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Where a device sits: its PCI address, the bridges above it from the root port down, and its socket."""

    address: str
    bridges: tuple[str, ...]
    socket: int


@dataclass(frozen=True)
class Group:
    """Devices that sit together: a GPU with the NIC and the NVMe drive nearest to it."""

    gpu: Place
    nic: Place
    nvme: Place


def direct(address: str, port: str, socket: int = 0) -> Place:
    """A device straight below a root port."""
    return Place(address, (port,), socket)


def switched(root: int, socket: int, gpu: int = 6) -> Group:
    """A PCI switch below port 01.0 of a root bus: an upstream and three downstream ports; NIC and drive at bus offsets 3
    and 4, the GPU at its own.

    >>> switched(0x15, 0).gpu
    Place(address='0000:1b:00.0', bridges=('0000:15:01.0', '0000:16:00.0', '0000:17:02.0'), socket=0)
    """
    above = (f"0000:{root:02x}:01.0", f"0000:{root + 1:02x}:00.0")

    def place(port: int, bus: int) -> Place:
        return Place(f"0000:{root + bus:02x}:00.0", (*above, f"0000:{root + 2:02x}:{port:02x}.0"), socket)

    return Group(gpu=place(2, gpu), nic=place(0, 3), nvme=place(1, 4))


def tray(gpu: str, nic: str, nvme: str, socket: int) -> Group:
    """Devices with a PCI domain of their own each, as behind a Grace CPU."""
    return Group(*(direct(f"{domain}:{bus}:00.0", f"{domain}:00:00.0", socket)
                   for domain, bus in ((gpu, "01"), (nic, "03"), (nvme, "01"))))
