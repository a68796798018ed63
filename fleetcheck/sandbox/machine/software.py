"""The system software of a node: modules, services, processes, compilers; used by /proc, /sys and commands alike."""

from __future__ import annotations

from dataclasses import dataclass

from fleetcheck.sandbox.machine.base import Base


def gcc_banner(base: Base) -> str:
    """The compiler line of /proc/version and of the GPU driver."""
    return f"{base.cpu_isa}-linux-gnu-gcc-13 (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0"


def modules(base: Base) -> list[tuple[str, int, tuple[str, ...]]]:
    """Loaded kernel modules: name, size, users."""
    gpu = [
        ("nvidia_uvm", 2_076_672, ()), ("nvidia_peermem", 20_480, ()), ("nvidia_drm", 131_072, ()),
        ("nvidia_modeset", 1_740_800, ("nvidia_drm",)), ("nvidia", 14_381_056, ("nvidia_uvm", "nvidia_peermem",
                                                                                "nvidia_modeset")),
    ] if base.gpus else []
    rdma = [
        ("rdma_ucm", 32_768, ()), ("ib_ipoib", 155_648, ()), ("ib_umad", 40_960, ()), ("mlx5_ib", 475_136, ()),
        ("ib_uverbs", 200_704, ("nvidia_peermem", "rdma_ucm", "mlx5_ib") if base.gpus else ("rdma_ucm", "mlx5_ib")),
        ("rdma_cm", 147_456, ("rdma_ucm",)), ("ib_core", 544_768, ("rdma_cm", "ib_ipoib", "ib_umad", "rdma_ucm",
                                                                   "mlx5_ib", "ib_uverbs")),
        ("mlx5_core", 2_568_192, ("mlx5_ib",)), ("mlxfw", 36_864, ("mlx5_core",)),
    ] if base.hcas else []
    edac = {"GenuineIntel": "i10nm_edac", "AuthenticAMD": "amd64_edac"}.get(base.cpus.processor.vendor)
    rest = [
        ("raid1", 57_344, ()), ("raid0", 24_576, ()), ("nvme", 61_440, ()), ("nvme_core", 225_280, ("nvme",)),
        ("xfs", 2_494_464, ()),
        ("ipmi_devintf", 16_384, ()), ("ipmi_si", 86_016, ()), ("ipmi_msghandler", 147_456, ("ipmi_devintf",
                                                                                             "ipmi_si")),
        ("ice", 1_433_600, ()), ("efivarfs", 28_672, ()),
    ]
    return [*gpu, *rdma, *([(edac, 45_056, ())] if edac else []), *rest]


@dataclass(frozen=True)
class Service:
    """A systemd unit that a healthy node runs, with its main process."""

    unit: str
    pid: int
    command: str
    comm: str
    description: str
    listens: tuple[int, ...] = ()
    user: int = 0


def services(base: Base) -> list[Service]:
    """The services of a node of this profile; the GPU's only where there are GPUs."""
    usual = [
        Service("systemd-journald", 801, "/usr/lib/systemd/systemd-journald", "systemd-journal", "Journal Service"),
        Service("systemd-resolved", 1202, "/usr/lib/systemd/systemd-resolved", "systemd-resolve",
                "Network Name Resolution", (), 992),
        Service("chronyd", 1410, "/usr/sbin/chronyd -F 1", "chronyd", "chrony, an NTP client/server", (), 114),
        Service("ssh", 1533, "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups", "sshd",
                "OpenBSD Secure Shell server", (22,)),
        Service("containerd", 1620, "/usr/bin/containerd", "containerd", "containerd container runtime"),
        Service("docker", 1811, "/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock", "dockerd",
                "Docker Application Container Engine"),
        Service("munge", 1702, "/usr/sbin/munged", "munged", "MUNGE authentication service", (), 117),
        Service("slurmd", 1934, "/usr/sbin/slurmd --systemd", "slurmd", "Slurm node daemon", (6818,)),
        Service("node_exporter", 1721,
                "/usr/local/bin/node_exporter --collector.textfile.directory=/var/lib/node_exporter", "node_exporter",
                "Prometheus node exporter", (9100,), 998),
    ]
    return [*usual, *_gpu_services(base)]


def _gpu_services(base: Base) -> list[Service]:
    if base.gpus is None:
        return []
    found = [
        Service("nvidia-persistenced", 1388,
                "/usr/bin/nvidia-persistenced --user nvidia-persistenced --persistence-mode", "nvidia-persiste",
                "NVIDIA Persistence Daemon", (), 113),
        Service("nvidia-dcgm", 2051, "/usr/bin/nv-hostengine -n --service-account nvidia-dcgm", "nv-hostengine",
                "NVIDIA DCGM service", (5555,), 997),
        Service("dcgm-exporter", 2077, "/usr/bin/dcgm-exporter -a :9400", "dcgm-exporter", "DCGM Prometheus exporter",
                (9400,), 996),
    ]
    if base.gpus.chip.nvlink_domain:
        found.append(Service("nvidia-imex", 2033, "/usr/bin/nvidia-imex -c /etc/nvidia-imex/config.cfg", "nvidia-imex",
                             "NVIDIA IMEX service", (50000,)))
    elif base.gpus.fabric or base.gpus.links:
        found.append(Service("nvidia-fabricmanager", 2017,
                             "/usr/bin/nv-fabricmanager -c /usr/share/nvidia/nvswitch/fabricmanager.cfg",
                             "nv-fabricmanage", "NVIDIA fabric manager service", (6666,)))
    return found
