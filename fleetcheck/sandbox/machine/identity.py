"""Who a simulated node is: serial numbers, UUIDs, MACs and GUIDs, all derived from its name and number."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

DOMAIN_NODES = 18
"""Compute trays of one NVL72 rack: they share a fabric cluster UUID and clique."""


def _address(number: int) -> str:
    return f"10.20.{number // 250}.{number % 250 + 1}"


@dataclass(frozen=True)
class Identity:
    """One node of a fleet. number is unique in the fleet and below 65,536; consecutive trays share an NVLink domain."""

    name: str
    number: int

    def digest(self, *words: object) -> str:
        """32 hex digits that belong to this node and these words alone."""
        text = "/".join((self.name, str(self.number), *map(str, words)))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def pick(self, low: int, high: int, *words: object) -> int:
        """A number from low to high, always the same for this node and these words."""
        return low + int(self.digest(*words)[:12], 16) % (high - low + 1)

    def _uuid(self, *words: object) -> str:
        return str(uuid.UUID(self.digest(*words), version=4))

    @property
    def boot_id(self) -> str:
        """As /proc/sys/kernel/random/boot_id."""
        return self._uuid("boot")

    @property
    def machine_id(self) -> str:
        """As /etc/machine-id."""
        return self.digest("machine-id")

    @property
    def address(self) -> str:
        """The node's address in the management network, as its own files tell it."""
        return _address(self.number)

    @property
    def product_uuid(self) -> str:
        """As /sys/class/dmi/id/product_uuid."""
        return self._uuid("product")

    def chassis_serial(self) -> str:
        """As /sys/class/dmi/id/product_serial and chassis_serial."""
        return f"S{self.number:05d}X{self.digest('chassis')[:6].upper()}"

    def board_serial(self) -> str:
        """As /sys/class/dmi/id/board_serial."""
        return f"UM{self.number:05d}S{self.digest('board')[:5].upper()}"

    def gpu_serial(self, index: int) -> str:
        """Thirteen digits, as NVML tells them."""
        return f"165{self.number:05d}{index:02d}{self.pick(0, 999, 'gpu-serial', index):03d}"

    def gpu_uuid(self, index: int) -> str:
        """As NVML tells it."""
        return f"GPU-{self._uuid('gpu', index)}"

    def part_serial(self, kind: str, index: int, prefix: str) -> str:
        """A vendor-like serial number of a drive, DIMM, NIC or power supply."""
        return f"{prefix}{self.number:05d}{index:02d}{self.digest(kind, index)[:4].upper()}"

    def mac(self, port: int) -> str:
        """The MAC of a network port; port below 256."""
        digits = f"946dae{self.number:04x}{port:02x}"
        return ":".join(digits[i:i + 2] for i in range(0, 12, 2))

    def guid(self, port: int) -> str:
        """The InfiniBand node GUID of a port's device, four groups of four digits; consistent with its MAC."""
        digits = f"946dae0300{self.number:04x}{port:02x}"
        return ":".join(digits[i:i + 4] for i in range(0, 16, 4))

    @property
    def domain_addresses(self) -> list[str]:
        """The addresses of all trays of the node's NVLink domain, as IMEX lists them."""
        first = max(self.number - 1, 0) // DOMAIN_NODES * DOMAIN_NODES + 1
        return [_address(number) for number in range(first, first + DOMAIN_NODES)]

    @property
    def fabric_uuid(self) -> str:
        """The cluster UUID of the node's NVLink domain: the same for 18 consecutive numbers, 1 to 18 first."""
        domain = f"nvlink-domain/{max(self.number - 1, 0) // DOMAIN_NODES}"
        return str(uuid.UUID(hashlib.blake2b(domain.encode(), digest_size=16).hexdigest(), version=4))
