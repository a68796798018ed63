"""What all nodes of one profile have in common: the profile's expectations settled into one healthy machine."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fleetcheck.bound import Choice
from fleetcheck.profile import Bundle, GpuProfile, HcaProfile, LinkProfile, Profile
from fleetcheck.sandbox.machine.chips import Chip
from fleetcheck.sandbox.machine.cpus import Cpus, cpus
from fleetcheck.sandbox.machine.entries import settle
from fleetcheck.sandbox.machine.mounts import Mount, data_drives, mounts
from fleetcheck.sandbox.machine.placement import Place
from fleetcheck.sandbox.machine.servers import CPU_HOST, GB200_TRAY, GPU_SERVERS, Server

ON = {"enabled": 1, "on": 1}
COMPUTE_MODES = {"default": 0, "exclusive-thread": 1, "prohibited": 2, "exclusive-process": 3, "exclusive_process": 3}
DEFAULT_DRIVER = "580.95.05"
DEFAULT_KERNEL = "6.8.0-79-generic"
DEFAULT_IMAGE = "Ubuntu 24.04.3 LTS"


@dataclass(frozen=True)
class Versions:
    """The software of the newest bundle; what it leaves open is filled with a usual version."""

    driver: str
    cuda: int                                          # as NVML tells it: 13000 is 13.0
    vbios: str
    gsp: str
    kernel: str
    image: str                                         # PRETTY_NAME of os-release

    @property
    def branch(self) -> int:
        """The driver branch: 580 of 580.95.05."""
        return int(self.driver.partition(".")[0])


@dataclass(frozen=True)
class Gpus:
    """The accelerators of a node, settled."""

    chip: Chip
    name: str
    count: int
    memory_bytes: int
    ecc: bool
    links: int
    link_mbytes_per_second: int
    fabric: bool
    width: int
    generation: int
    watts: int
    compute_mode: int
    persistence: bool
    mig: bool
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Hca:
    """One mlx5 device with one port."""

    name: str
    place: Place
    link_layer: str
    gbits_per_second: int
    compute: bool                                      # False: the management port, down by design


@dataclass(frozen=True)
class Interface:
    """One Ethernet interface of the profile; a bond has no place on PCI."""

    name: str
    place: Place | None
    mbits_per_second: int
    mtu_bytes: int


@dataclass(frozen=True)
class Base:
    """A profile settled into one healthy machine; shared by all its nodes."""

    profile: Profile
    server: Server
    versions: Versions
    gpus: Gpus | None
    cpus: Cpus
    memory_bytes: int
    hcas: tuple[Hca, ...]
    interfaces: tuple[Interface, ...]
    data_drives: tuple[Place, ...]
    mounts: tuple[Mount, ...]

    @property
    def cpu_isa(self) -> str:
        """As ``uname -m``."""
        return self.profile.architecture


def base(profile: Profile) -> Base:
    """The machine behind a profile; worked out once for equal profiles."""
    return _base(profile.model_dump_json())


@functools.lru_cache(maxsize=16)
def _base(text: str) -> Base:
    profile = Profile.model_validate_json(text)
    server = _server(profile)
    return Base(
        profile=profile, server=server, versions=_versions(profile, server), gpus=_gpus(profile.gpu, server),
        cpus=cpus(profile, server), memory_bytes=_memory_bytes(profile, server), hcas=_hcas(profile.hcas, server),
        interfaces=_interfaces(profile.links, server), data_drives=data_drives(server), mounts=mounts(profile, server),
    )


def _memory_bytes(profile: Profile, server: Server) -> int:
    """What the DIMMs hold less what the kernel keeps, in whole kilobytes as /proc/meminfo counts."""
    usual = server.dimms * (server.dimm_gibibytes << 30) * 985 // 1000
    return settle(profile.memory.total_bytes, usual) // 1024 * 1024


def _server(profile: Profile) -> Server:
    if profile.gpu is None:
        return CPU_HOST
    names = " ".join(profile.gpu.product.allowed)
    known = (server for server in GPU_SERVERS if server.chip and server.chip.family in names)
    return next(known, GB200_TRAY if profile.architecture == "aarch64" else _of_architecture(profile.gpu.architecture))


def _of_architecture(architecture: str) -> Server:
    """The nearest known server to a GPU product that none is known for."""
    wanted = {"ampere": "A100", "hopper": "H100"}.get(architecture, "B200")
    return next(server for server in GPU_SERVERS if server.chip and server.chip.family == wanted)


def newest(bundles: Sequence[Bundle]) -> Bundle | None:
    """The bundle a fleet converges on: one without an end before others, then the latest, then the first listed."""
    return max(bundles, key=lambda bundle: (bundle.until is None, bundle.date), default=None)


def _versions(profile: Profile, server: Server) -> Versions:
    bundle = newest(profile.bundles)
    chip = server.chip
    driver = bundle.driver if bundle else DEFAULT_DRIVER
    return Versions(
        driver=driver or DEFAULT_DRIVER,
        cuda=_cuda(bundle.cuda_driver if bundle else ""),
        vbios=(bundle.vbios if bundle and bundle.vbios else (chip.vbios if chip else "",))[0],
        gsp=(bundle.gsp_firmware if bundle else "") or driver,
        kernel=(bundle.kernel if bundle and bundle.kernel else (DEFAULT_KERNEL,))[0],
        image=(bundle.os_image if bundle and bundle.os_image else (DEFAULT_IMAGE,))[0],
    )


def _cuda(version: str) -> int:
    """NVML's number of a CUDA version.

    >>> _cuda("12.8"), _cuda("13000"), _cuda("")
    (12080, 13000, 13000)
    """
    match = re.fullmatch(r"(\d+)\.(\d+).*", version)
    return int(match[1]) * 1000 + int(match[2]) * 10 if match else int(version or 13000)


def _number(choice: Choice | None, words: Mapping[str, int]) -> int:
    """NVML's number of the first word a profile allows."""
    return words.get(choice.allowed[0].lower(), 0) if choice and choice.allowed else 0


def _gpus(profile: GpuProfile | None, server: Server) -> Gpus | None:
    """At most as many GPUs as the server has places for."""
    chip = server.chip
    if profile is None or chip is None:
        return None
    places = tuple(group.gpu for group in server.groups)
    return Gpus(
        chip=chip, name=profile.product.allowed[0], count=min(settle(profile.count, len(places)), len(places)),
        memory_bytes=settle(profile.memory_bytes, chip.memory_bytes), ecc=bool(_number(profile.ecc, ON)),
        links=settle(profile.nvlinks, chip.links) if profile.nvlinks else 0, fabric=profile.fabric,
        link_mbytes_per_second=settle(profile.nvlink_mbytes_per_second, chip.link_mbytes_per_second),
        width=settle(profile.pcie_width, 16), generation=settle(profile.pcie_generation, chip.pcie_generation),
        watts=settle(profile.power_limit_watts, chip.watts), compute_mode=_number(profile.compute_mode, COMPUTE_MODES),
        persistence=bool(_number(profile.persistence_mode, ON)), mig=bool(_number(profile.mig_mode, ON)), places=places,
    )


def _hcas(profile: HcaProfile | None, server: Server) -> tuple[Hca, ...]:
    """The profile's ports, and one of a management NIC that the profile leaves out."""
    if profile is None:
        return ()
    layer, rate = profile.link_layer.allowed[0], settle(profile.rate_gbits_per_second, 400)
    compute = [Hca(name, place, layer, rate, True) for name, place in zip(profile.names, _nics(server), strict=False)]
    spare = next(name for name in (f"mlx5_{number}" for number in range(99)) if name not in profile.names)
    return (*compute, Hca(spare, server.management, "Ethernet", 100, False))


def _interfaces(profile: LinkProfile | None, server: Server) -> tuple[Interface, ...]:
    """The profile's interfaces, functions of one card; eth0 where the profile names none."""
    speed = settle(profile.speed_mbits_per_second if profile else None, 25_000)
    mtu = settle(profile.mtu_bytes if profile else None, 1500)
    return tuple(Interface(name, None if name.startswith("bond") else _function(server.ethernet, number), speed, mtu)
                 for number, name in enumerate(profile.names if profile else ("eth0",)))


def _function(place: Place, number: int) -> Place:
    """Another function of the same card."""
    return Place(f"{place.address[:-1]}{number % 8}", place.bridges, place.socket)


def _nics(server: Server) -> list[Place]:
    """Where HCAs sit: one near each GPU, then the second ports of the same cards."""
    first = [group.nic for group in server.groups] or [server.compute or server.management]
    return [*first, *(_function(place, 1) for place in first)]
