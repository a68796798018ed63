"""What the hardware and software of a node should be: counts, limits and version bundles, each with source and date."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from fleetcheck.bound import Bound, Choice, Date
from fleetcheck.policy import CheckPolicy


class Section(BaseModel):
    """A part of a profile; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class GpuProfile(Section):
    """The accelerators of one node. A field left out (None) does not apply to this hardware: its checks are skipped."""

    product: Choice                                   # NVML device names
    count: Bound
    architecture: str                                 # ampere, hopper, blackwell, …
    memory_bytes: Bound                               # NVML total per GPU
    ecc: Choice | None = None                         # enabled | disabled
    row_remapping: bool = True                        # Ampere and later; earlier parts retire pages
    remapped_rows_uncorrectable: Bound | None = None
    retired_pages: Bound | None = None
    nvlinks: Bound | None = None                      # active links per GPU
    nvlink_mbytes_per_second: Bound | None = None     # per link, NVML field 164/90
    fabric: bool = False                              # NVSwitch fabric: manager registered, state completed
    pcie_width: Bound
    pcie_generation: Bound | None = None              # judged under load only
    power_limit_watts: Bound
    temperature_margin_celsius: Bound | None = None   # Hopper and later: T.Limit margin
    temperature_celsius: Bound | None = None          # absolute, where no margin is reported (A100)
    memory_temperature_celsius: Bound | None = None
    compute_mode: Choice
    persistence_mode: Choice
    mig_mode: Choice


class CpuProfile(Section):
    """Processors: counts as /sys/devices/system/cpu shows them online."""

    sockets: Bound
    cores: Bound
    threads: Bound
    numa_nodes: Bound
    governor: Choice | None = None


class MemoryProfile(Section):
    """System memory as MemTotal of /proc/meminfo."""

    total_bytes: Bound
    swap_bytes: Bound | None = None


class FilesystemProfile(Section):
    """One mount that must be there, writable, with room."""

    mount: str
    types: tuple[str, ...] = ()
    free_percent: Bound
    inodes_free_percent: Bound | None = None
    writable: bool = True


class LinkProfile(Section):
    """Ethernet interfaces with the names given."""

    names: tuple[str, ...]
    speed_mbits_per_second: Bound | None = None
    mtu_bytes: Bound | None = None


class HcaProfile(Section):
    """RDMA ports used by the compute fabric; ports of other devices (management) are no part of it."""

    names: tuple[str, ...]                            # mlx5_0 …; the device's port 1
    rate_gbits_per_second: Bound
    link_layer: Choice


class TimeProfile(Section):
    """Clock discipline."""

    offset_seconds: Bound
    skew_seconds: Bound                               # node clock against the controller's


class Bundle(Section):
    """Versions that belong together. A node matches a bundle when every version named in it agrees; ``until`` ends a bundle
    (a rolling upgrade lists the old one with an end date and raises nothing before it)."""

    name: str
    driver: str
    cuda_driver: str = ""
    vbios: tuple[str, ...] = ()                       # board revisions of one product ship different ones
    gsp_firmware: str = ""
    kernel: tuple[str, ...] = ()
    os_image: tuple[str, ...] = ()
    until: Date | None = None
    source: str
    date: Date

    def current(self, today: datetime.date) -> bool:
        """Whether this bundle is still allowed on that day."""
        return self.until is None or today <= self.until


class Profile(Section):
    """One kind of node. ``extends`` names another profile whose values hold where this one is silent (mappings merge key by
    key, lists and scalars replace)."""

    name: str
    extends: str = ""
    description: str = ""
    architecture: Literal["x86_64", "aarch64"]
    gpu: GpuProfile | None = None
    cpu: CpuProfile
    memory: MemoryProfile
    filesystems: tuple[FilesystemProfile, ...] = ()
    links: LinkProfile | None = None
    hcas: HcaProfile | None = None
    time: TimeProfile
    bundles: tuple[Bundle, ...] = ()
    limits: Mapping[str, Bound] = Field(default_factory=dict)      # any further limit a check names
    choices: Mapping[str, Choice] = Field(default_factory=dict)
    policy: Mapping[str, CheckPolicy] = Field(default_factory=dict)
    required: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)   # tier → checks; empty: every applicable check of the tier
