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


class ServicesProfile(Section):
    """systemd units. fabric_manager, imex: whether this node itself has to run them; a VM whose host does needs neither."""

    fabric_manager: bool = False
    imex: bool = False
    active: Choice | None = None                      # further units that must run; enabled ones that are well known must anyway
    ignored_failed: Choice | None = None              # failed units nobody need mind; patterns such as snap.*


class KernelProfile(Section):
    """Settings of the kernel. Words of the command line as typed there: ``iommu=pt``."""

    sysctls: Mapping[str, Bound | Choice] = Field(default_factory=dict)
    command_line: Choice | None = None                # words that must be there
    refused_words: Choice | None = None               # words that must not


class ContainersProfile(Section):
    """Container runtimes: docker, containerd, enroot, apptainer. None: what is enabled on the node must answer."""

    runtimes: Choice | None = None
    kubernetes: bool = False


class SchedulerProfile(Section):
    """Who hands out jobs."""

    kind: Literal["slurm"]


class ExporterProfile(Section):
    """One exporter of the node, asked at http://localhost:PORT PATH. gpus: whether it tells of every GPU."""

    name: str
    port: int = Field(ge=1, le=65535)
    path: str = Field(default="/metrics", pattern="^/[!-~]*$")
    gpus: bool = False
    age_seconds: Bound | None = None                  # of its newest sample: two intervals


class MonitoringProfile(Section):
    """What watches the node."""

    exporters: tuple[ExporterProfile, ...]


class SoftwareProfile(Section):
    """What the node's torch environment (``torch_python`` of the inventory) and package sources hold."""

    torch: Choice | None = None
    cuda: Choice | None = None                        # the CUDA runtime torch was built for
    nccl: Choice | None = None
    plugin: Choice | None = None                      # file names of NCCL's network plugin
    repositories: Choice | None = None                # names or addresses of package repositories: no others


class SecurityProfile(Section):
    """What is open, and to whom."""

    sshd: Mapping[str, Choice] = Field(default_factory=dict)   # keyword of sshd_config, small letters, as sshd -T says it
    ports: Choice | None = None                       # TCP ports that may listen beyond loopback
    users: Choice | None = None                       # who may be logged in
    accounts: Choice | None = None                    # whose password must not have run out


class EndpointProfile(Section):
    """A TCP port that must answer from the node; mtu_bytes: a packet of that size must pass whole."""

    name: str
    host: str = Field(pattern="^[A-Za-z0-9_.:][A-Za-z0-9_.:-]*$")
    port: int = Field(ge=1, le=65535)
    mtu_bytes: int | None = Field(default=None, ge=576, le=65535)


class ReachProfile(Section):
    """What the node must reach."""

    default_route: bool = False
    names: Choice | None = None                       # host names that must resolve
    endpoints: tuple[EndpointProfile, ...] = ()


class LoadProfile(Section):
    """What a healthy accelerator of this kind reaches under load: floors per accelerator. A field left out: no figure is known, and
    its check does not apply. Rates in units of ten: 1 GB/s is 1e9 bytes a second."""

    tflops: Mapping[str, Bound] = Field(default_factory=dict)  # dense matmul by dtype: bf16, fp16, tf32, fp32, fp8
    hbm_gbytes_per_second: Bound | None = None                 # copy within the device, reads and writes counted
    host_to_device_gbytes_per_second: Bound | None = None
    device_to_host_gbytes_per_second: Bound | None = None
    peer_gbytes_per_second: Bound | None = None                # one direction of one pair
    cpu_rounds_per_second: Bound | None = None                 # of all processors, in the load's own rounds
    dram_gbytes_per_second: Bound | None = None
    disk_write_mbytes_per_second: Bound | None = None
    disk_read_mbytes_per_second: Bound | None = None


class InterconnectProfile(Section):
    """What healthy nodes of this kind reach together, by collective (all_reduce, all_to_all, send_recv…). A field left out: no figure is
    known, and peers alone judge. GB/s are 1e9 bytes a second of bus bandwidth, as nccl-tests count it."""

    floor_bytes: int = Field(default=1 << 30, ge=1 << 20)      # floors hold from that message size on
    pair_busbw_gbytes_per_second: Mapping[str, Bound] = Field(default_factory=dict)    # of two nodes
    group_busbw_gbytes_per_second: Mapping[str, Bound] = Field(default_factory=dict)   # of more
    node_busbw_gbytes_per_second: Mapping[str, Bound] = Field(default_factory=dict)    # of one node by itself
    node_busbw_without_nvls_gbytes_per_second: Mapping[str, Bound] = Field(default_factory=dict)    # with NVLink SHARP off
    latency_p50_microseconds: Mapping[str, Bound] = Field(default_factory=dict)        # up to 32 KiB, of any number of nodes
    latency_p99_microseconds: Mapping[str, Bound] = Field(default_factory=dict)

    def busbw(self, op: str, members: int, size: int) -> Bound | None:
        """The floor of a collective among so many nodes."""
        floors = self.pair_busbw_gbytes_per_second if members == 2 else self.group_busbw_gbytes_per_second
        return floors.get(op) if size >= self.floor_bytes else None

    def latency(self, op: str, what: str, size: int) -> Bound | None:
        """The most that half (p50_us) or 99 of 100 calls (p99_us) may take."""
        return (self.latency_p50_microseconds if what == "p50_us" else self.latency_p99_microseconds).get(op)


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
    services: ServicesProfile | None = None
    kernel: KernelProfile | None = None
    containers: ContainersProfile | None = None
    scheduler: SchedulerProfile | None = None
    monitoring: MonitoringProfile | None = None
    software: SoftwareProfile | None = None
    security: SecurityProfile | None = None
    reach: ReachProfile | None = None
    load: LoadProfile | None = None
    interconnect: InterconnectProfile | None = None
    bundles: tuple[Bundle, ...] = ()
    limits: Mapping[str, Bound] = Field(default_factory=dict)      # any further limit a check names
    choices: Mapping[str, Choice] = Field(default_factory=dict)
    policy: Mapping[str, CheckPolicy] = Field(default_factory=dict)
    required: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)   # tier → checks; empty: every applicable check of the tier
