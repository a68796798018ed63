"""/proc of a healthy node, without processes and network."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Base, Gpus
from fleetcheck.sandbox.machine.cpus import Cpus
from fleetcheck.sandbox.machine.entries import Files, growing, link, tree
from fleetcheck.sandbox.machine.memory import buddyinfo, meminfo
from fleetcheck.sandbox.machine.mounts import Mount
from fleetcheck.sandbox.machine.node import GpuSlot, Node
from fleetcheck.sandbox.machine.software import gcc_banner, modules

BUILD = "#79-Ubuntu SMP PREEMPT_DYNAMIC Tue Aug 12 14:42:46 UTC 2025"
FILESYSTEMS = ("sysfs", "tmpfs", "proc", "cgroup2", "devtmpfs", "ext4", "xfs", "vfat", "nfs", "nfs4")
ON_DISK = ("ext4", "xfs", "vfat")
IDLE_LOAD = "0.42 0.38 0.35 2/{threads} 48112"


def shared(base: Base) -> Files:
    """What every node of the profile shows alike."""
    return {
        "/proc/cpuinfo": cpuinfo(base.cpus), "/proc/modules": "".join(_module(*one) for one in modules(base)),
        "/proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
        "/proc/filesystems": "".join(f"{'' if kind in ON_DISK else 'nodev'}\t{kind}\n" for kind in FILESYSTEMS),
        "/proc/cmdline": _command_line(base), "/proc/mdstat": _mdstat(base),
        "/proc/version": f"Linux version {base.versions.kernel} (buildd@builder-06) ({gcc_banner(base)}) {BUILD}\n",
        **kernel_settings(base),
    }


def _module(name: str, size: int, users: tuple[str, ...]) -> str:
    listed = f"{','.join(users)}," if users else "-"
    return f"{name} {size} {len(users)} {listed} Live 0x0000000000000000\n"


def _command_line(base: Base) -> str:
    words = [f"BOOT_IMAGE=/boot/vmlinuz-{base.versions.kernel}", "root=UUID=5f0e6d1c-7a33-4f0f-9d2e-0c4c1be37a51", "ro",
             "console=tty0", "console=ttyS0,115200n8", "iommu=pt", "numa_balancing=disable"]
    if base.cpus.processor.vendor == "GenuineIntel":
        words.append("intel_iommu=on")
    return " ".join(words) + "\n"


def cpuinfo(cpus: Cpus) -> str:
    """/proc/cpuinfo with a stanza per thread."""
    stanza = _arm_stanza if cpus.processor.isa == "aarch64" else _x86_stanza
    return "".join(stanza(cpus, cpu) for cpu in range(cpus.threads))


def _x86_stanza(cpus: Cpus, cpu: int) -> str:
    chip = cpus.processor
    core, socket = cpus.core_of(cpu), cpus.socket_of(cpu)
    per_socket = cpus.cores // cpus.sockets
    apic = socket * 256 + (core % per_socket) * cpus.smt + cpu // cpus.cores
    mhz = (chip.base_khz if cpu % 7 else chip.highest_khz) / 1000
    return (
        f"processor\t: {cpu}\nvendor_id\t: {chip.vendor}\ncpu family\t: {chip.family}\nmodel\t\t: {chip.model}\n"
        f"model name\t: {chip.model_name}\nstepping\t: {chip.stepping}\nmicrocode\t: {chip.microcode}\n"
        f"cpu MHz\t\t: {mhz:.3f}\ncache size\t: {chip.cache_kbytes} KB\nphysical id\t: {socket}\n"
        f"siblings\t: {cpus.threads // cpus.sockets}\ncore id\t\t: {core % per_socket}\ncpu cores\t: {per_socket}\n"
        f"apicid\t\t: {apic}\ninitial apicid\t: {apic}\nfpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: 32\n"
        f"wp\t\t: yes\nflags\t\t: {chip.flags}\nbugs\t\t: spectre_v1 spectre_v2 spec_store_bypass swapgs\n"
        f"bogomips\t: {chip.base_khz / 500:.2f}\nclflush size\t: 64\ncache_alignment\t: 64\n"
        "address sizes\t: 52 bits physical, 57 bits virtual\npower management:\n\n"
    )


def _arm_stanza(cpus: Cpus, cpu: int) -> str:
    chip = cpus.processor
    return (f"processor\t: {cpu}\nBogoMIPS\t: 2000.00\nFeatures\t: {chip.flags}\nCPU implementer\t: 0x41\n"
            f"CPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0x{chip.model:03x}\nCPU revision\t: {chip.stepping}\n\n")


def _mdstat(base: Base) -> str:
    first = len(base.server.boot_drives)
    boot = " ".join(f"nvme{number}n1p2[{number}]" for number in range(first))
    data = " ".join(f"nvme{first + number}n1[{number}]" for number in range(len(base.data_drives)))
    blocks = len(base.data_drives) * 3_750_608_896
    return (
        "Personalities : [raid0] [raid1] [linear] [multipath] [raid6] [raid5] [raid4] [raid10]\n"
        + (f"md1 : active raid0 {data}\n      {blocks} blocks super 1.2 512k chunks\n\n" if data else "")
        + f"md0 : active raid1 {boot}\n      1874715648 blocks super 1.2 [{first}/{first}] [{'U' * first}]\n"
        "      bitmap: 2/14 pages [8KB], 65536KB chunk\n\nunused devices: <none>\n"
    )


def kernel_settings(base: Base) -> Files:
    """/proc/sys as every node of the profile has it; sysctl prints the same."""
    threads = base.cpus.threads
    return {
        **tree("/proc/sys/kernel", {
            "osrelease": base.versions.kernel, "ostype": "Linux",
            "version": BUILD, "pid_max": 4_194_304,
            "threads-max": 8_255_000, "dmesg_restrict": 1, "numa_balancing": 0, "tainted": 4097, "panic": 10,
            "panic_on_oops": 1, "hung_task_timeout_secs": 120, "randomize_va_space": 2, "kptr_restrict": 1,
            "watchdog": 1, "nmi_watchdog": 0, "sched_rt_runtime_us": 950_000, "shmmax": 18446744073692774399,
            "perf_event_paranoid": 2, "domainname": "(none)",
        }),
        **tree("/proc/sys/fs", {"file-max": 9223372036854775807, "file-nr": f"{threads * 28}\t0\t9223372036854775807",
                                "nr_open": 1_048_576, "inotify/max_user_watches": 1_048_576,
                                "inotify/max_user_instances": 8192}),
        **tree("/proc/sys/vm", {
            "swappiness": 10, "overcommit_memory": 0, "overcommit_ratio": 50, "max_map_count": 1_048_576,
            "nr_hugepages": 0, "zone_reclaim_mode": 0, "dirty_ratio": 20, "dirty_background_ratio": 10,
            "min_free_kbytes": 1_048_576, "compaction_proactiveness": 20, "panic_on_oom": 0, "numa_stat": 1,
        }),
        **_network_settings(),
    }


def _network_settings() -> Files:
    return {
        **tree("/proc/sys/net/core", {"rmem_max": 2_147_483_647, "wmem_max": 2_147_483_647, "rmem_default": 212_992,
                                      "wmem_default": 212_992, "netdev_max_backlog": 250_000, "somaxconn": 65_535,
                                      "default_qdisc": "fq_codel"}),
        **tree("/proc/sys/net/ipv4", {
            "tcp_rmem": "4096\t131072\t2147483647", "tcp_wmem": "4096\t65536\t2147483647",
            "tcp_congestion_control": "cubic", "ip_forward": 0, "tcp_mtu_probing": 1,
            "ip_local_port_range": "32768\t60999", "tcp_timestamps": 1, "tcp_sack": 1, "tcp_max_syn_backlog": 65_535,
            "conf/all/rp_filter": 2, "conf/all/arp_ignore": 1, "conf/all/arp_announce": 2,
            "neigh/default/gc_thresh3": 32_768,
        }),
        **tree("/proc/sys/net/ipv6", {"conf/all/disable_ipv6": 0, "conf/default/disable_ipv6": 0}),
    }


def own(node: Node) -> Files:
    """What differs from node to node."""
    base, moment = node.base, node.moment
    return {
        "/proc/uptime": growing(f"{{n}}.42 {moment.uptime * base.cpus.threads}.17\n", moment.uptime, 1),
        "/proc/stat": _stat(node),
        "/proc/loadavg": IDLE_LOAD.format(threads=base.cpus.threads * 9) + "\n",
        "/proc/meminfo": meminfo(node),
        "/proc/buddyinfo": buddyinfo(base),
        "/proc/sys/kernel/hostname": f"{node.name}\n",
        "/proc/sys/kernel/random/boot_id": f"{node.identity.boot_id}\n",
        "/proc/sys/kernel/random/uuid": f"{node.identity.boot_id}\n",
        **_mounts(base),
        **_pressure(),
        **_gpu_driver(node),
    }


def _stat(node: Node) -> str:
    cpus, uptime = node.base.cpus, node.moment.uptime
    ticks = (uptime // 4, 12, uptime // 6, uptime * 99, uptime // 90, 0, uptime // 300, 0, 0, 0)
    one = " ".join(map(str, ticks))
    total = " ".join(str(tick * cpus.threads) for tick in ticks)
    rows = "".join(f"cpu{cpu} {one}\n" for cpu in range(cpus.threads))
    return (f"cpu  {total}\n{rows}intr {uptime * 31_000} 0 9 0\nctxt {uptime * 52_000}\nbtime {node.moment.booted}\n"
            f"processes {uptime // 2 + 9000}\nprocs_running 2\nprocs_blocked 0\nsoftirq {uptime * 9_000} 0 0 0 0\n")


def _mounts(base: Base) -> Files:
    table = "".join(f"{mount.source} {mount.mount} {mount.kind} {mount.options} 0 0\n" for mount in base.mounts)
    info = "".join(_mount_info(number, mount) for number, mount in enumerate(base.mounts, 28))
    return {"/proc/1/mounts": table, "/proc/1/mountinfo": info, **link("/proc/self", "/proc/1"),
            **link("/proc/mounts", "/proc/self/mounts")}


def _mount_info(number: int, mount: Mount) -> str:
    parent, access = 1 if mount.mount == "/" else 28, mount.options.partition(",")[0]
    return (f"{number} {parent} 0:{number} / {mount.mount} {mount.options} shared:{number} - {mount.kind} {mount.source} "
            f"{access}\n")


def _pressure() -> Files:
    idle = "some avg10=0.00 avg60=0.00 avg300=0.00 total=81234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=40021\n"
    return {f"/proc/pressure/{kind}": idle for kind in ("cpu", "memory", "io")}


def _gpu_driver(node: Node) -> Files:
    """/proc/driver/nvidia; absent on a host without GPUs."""
    gpus, driver = node.base.gpus, node.base.versions.driver
    if gpus is None:
        return {}
    return {
        "/proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX Open Kernel Module for {node.base.cpu_isa}  {driver}  "
                                       "Release Build  (dvs-builder@U22-I3-B03-1)\n"
                                       f"GCC version:  {gcc_banner(node.base)}\n",
        "/proc/driver/nvidia/params": "".join(f"{name}: {value}\n" for name, value in _PARAMS),
        "/proc/driver/nvidia/registry": 'Binary: ""\n',
        **{f"/proc/driver/nvidia/gpus/{slot.bus_id}/information": _gpu(node.base, gpus, slot) for slot in node.slots},
    }


def _gpu(base: Base, gpus: Gpus, slot: GpuSlot) -> str:
    return (f"Model: \t\t {gpus.name}\nIRQ:   \t\t {320 + slot.index * 12}\nGPU UUID: \t {slot.uuid}\n"
            f"Video BIOS: \t {base.versions.vbios.lower()}\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
            f"DMA Mask: \t 0xfffffffffffff\nBus Location: \t {slot.bus_id}\nDevice Minor: \t {slot.minor}\n"
            f"GPU Firmware: \t {base.versions.gsp}\nGPU Excluded:\t No\n")


_PARAMS = (("ResmanDebugLevel", 4294967295), ("ModifyDeviceFiles", 1), ("DeviceFileUID", 0), ("DeviceFileGID", 0),
           ("DeviceFileMode", 438), ("EnableMSI", 1), ("EnablePCIeGen3", 0), ("MemoryPoolSize", 0),
           ("PreserveVideoMemoryAllocations", 0), ("EnableGpuFirmware", 18), ("EnableStreamMemOPs", 1),
           ("RmProfilingAdminOnly", 1), ("NvLinkDisable", 0), ("ImexChannelCount", 2048), ("RegistryDwords", '""'))
