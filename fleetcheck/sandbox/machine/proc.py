"""/proc of a healthy node, without processes and network."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Base, Cpus
from fleetcheck.sandbox.machine.entries import Files, growing, link, tree
from fleetcheck.sandbox.machine.memory import buddyinfo, meminfo
from fleetcheck.sandbox.machine.node import Node
from fleetcheck.sandbox.machine.software import gcc_banner, modules

IDLE_LOAD = "0.42 0.38 0.35 2/{threads} 48112"


def shared(base: Base) -> Files:
    """What every node of the profile shows alike."""
    return {
        "/proc/cpuinfo": cpuinfo(base.cpus),
        "/proc/modules": "".join(f"{name} {size} {len(users)} {','.join(users) + ',' if users else '-'} Live "
                                 "0x0000000000000000\n"
                                 for name, size, users in modules(base)),
        "/proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n",
        "/proc/filesystems": "".join(f"{'' if kind in ('ext4', 'xfs', 'vfat') else 'nodev'}\t{kind}\n" for kind in
                                     ("sysfs", "tmpfs", "proc", "cgroup2", "devtmpfs", "ext4", "xfs", "vfat", "nfs",
                                      "nfs4")),
        "/proc/cmdline": f"BOOT_IMAGE=/boot/vmlinuz-{base.versions.kernel} "
                         "root=UUID=5f0e6d1c-7a33-4f0f-9d2e-0c4c1be37a51 ro console=tty0 "
                         "console=ttyS0,115200n8 "
                         f"iommu=pt{' intel_iommu=on' if base.cpus.processor.vendor == 'GenuineIntel' else ''} "
                         "numa_balancing=disable\n",
        "/proc/version": f"Linux version {base.versions.kernel} (buildd@builder-06) ({gcc_banner(base)}) #79-Ubuntu "
                         "SMP PREEMPT_DYNAMIC Tue Aug 12 14:42:46 UTC 2025\n",
        "/proc/mdstat": _mdstat(base),
        **kernel_settings(base),
    }


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
        f"model name\t: {chip.model_name}\n"
        f"stepping\t: {chip.stepping}\nmicrocode\t: {chip.microcode}\ncpu MHz\t\t: {mhz:.3f}\n"
        f"cache size\t: {chip.cache_kbytes} KB\n"
        f"physical id\t: {socket}\nsiblings\t: {cpus.threads // cpus.sockets}\ncore id\t\t: {core % per_socket}\n"
        f"cpu cores\t: {per_socket}\n"
        f"apicid\t\t: {apic}\ninitial apicid\t: {apic}\nfpu\t\t: yes\nfpu_exception\t: yes\ncpuid level\t: 32\n"
        "wp\t\t: yes\n"
        f"flags\t\t: {chip.flags}\nbugs\t\t: spectre_v1 spectre_v2 spec_store_bypass swapgs\n"
        f"bogomips\t: {chip.base_khz / 500:.2f}\n"
        "clflush size\t: 64\ncache_alignment\t: 64\naddress sizes\t: 52 bits physical, 57 bits virtual\n"
        "power management:\n\n"
    )


def _arm_stanza(cpus: Cpus, cpu: int) -> str:
    chip = cpus.processor
    return (f"processor\t: {cpu}\nBogoMIPS\t: 2000.00\nFeatures\t: {chip.flags}\nCPU implementer\t: 0x41\n"
            "CPU architecture: 8\n"
            f"CPU variant\t: 0x0\nCPU part\t: 0x{chip.model:03x}\nCPU revision\t: {chip.stepping}\n\n")


def _mdstat(base: Base) -> str:
    data = [f"nvme{index + len(base.server.boot_drives)}n1" for index in range(len(base.data_drives))]
    boot = [f"nvme{index}n1p2" for index in range(len(base.server.boot_drives))]
    lines = ["Personalities : [raid0] [raid1] [linear] [multipath] [raid6] [raid5] [raid4] [raid10]\n"]
    if data:
        members = " ".join(f"{name}[{index}]" for index, name in enumerate(data))
        lines.append(f"md1 : active raid0 {members}\n      {len(data) * 3_750_608_896} blocks super 1.2 512k chunks\n\n"
                     "")
    members = " ".join(f"{name}[{index}]" for index, name in enumerate(boot))
    count = len(boot)
    lines.append(f"md0 : active raid1 {members}\n      1874715648 blocks super 1.2 [{count}/{count}] [{'U' * count}]\n"
                 "      bitmap: 2/14 pages [8KB], 65536KB chunk\n\n")
    return "".join([*lines, "unused devices: <none>\n"])


def kernel_settings(base: Base) -> Files:
    """/proc/sys as every node of the profile has it; sysctl prints the same."""
    threads = base.cpus.threads
    return {
        **tree("/proc/sys/kernel", {
            "osrelease": base.versions.kernel, "ostype": "Linux",
            "version": "#79-Ubuntu SMP PREEMPT_DYNAMIC Tue Aug 12 14:42:46 UTC 2025",
            "pid_max": 4_194_304, "threads-max": 8_255_000, "dmesg_restrict": 1, "numa_balancing": 0, "tainted": 4097,
            "panic": 10,
            "panic_on_oops": 1, "hung_task_timeout_secs": 120, "randomize_va_space": 2, "kptr_restrict": 1,
            "watchdog": 1, "nmi_watchdog": 0,
            "sched_rt_runtime_us": 950_000, "shmmax": 18446744073692774399, "perf_event_paranoid": 2,
            "domainname": "(none)",
        }),
        **tree("/proc/sys/fs", {"file-max": 9223372036854775807, "file-nr": f"{threads * 28}\t0\t9223372036854775807",
                                "nr_open": 1_048_576, "inotify/max_user_watches": 1_048_576,
                                "inotify/max_user_instances": 8192}),
        **tree("/proc/sys/vm", {
            "swappiness": 10, "overcommit_memory": 0, "overcommit_ratio": 50, "max_map_count": 1_048_576,
            "nr_hugepages": 0, "zone_reclaim_mode": 0,
            "dirty_ratio": 20, "dirty_background_ratio": 10, "min_free_kbytes": 1_048_576,
            "compaction_proactiveness": 20, "panic_on_oom": 0, "numa_stat": 1,
        }),
        **_network_settings(),
    }


def _network_settings() -> Files:
    return {
        **tree("/proc/sys/net/core", {"rmem_max": 2_147_483_647, "wmem_max": 2_147_483_647, "rmem_default": 212_992,
                                      "wmem_default": 212_992,
                                      "netdev_max_backlog": 250_000, "somaxconn": 65_535, "default_qdisc": "fq_codel"}),
        **tree("/proc/sys/net/ipv4", {
            "tcp_rmem": "4096\t131072\t2147483647", "tcp_wmem": "4096\t65536\t2147483647",
            "tcp_congestion_control": "cubic", "ip_forward": 0,
            "tcp_mtu_probing": 1, "ip_local_port_range": "32768\t60999", "tcp_timestamps": 1, "tcp_sack": 1,
            "tcp_max_syn_backlog": 65_535,
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
    per_cpu = f"{uptime // 4} 12 {uptime // 6} {uptime * 99} {uptime // 90} 0 {uptime // 300} 0 0 0"
    total = " ".join(str(int(word) * cpus.threads) for word in per_cpu.split())
    rows = "".join(f"cpu{cpu} {per_cpu}\n" for cpu in range(cpus.threads))
    return (f"cpu  {total}\n{rows}intr {uptime * 31_000} 0 9 0\nctxt {uptime * 52_000}\nbtime {node.moment.booted}\n"
            f"processes {uptime // 2 + 9000}\n"
            f"procs_running 2\nprocs_blocked 0\nsoftirq {uptime * 9_000} 0 0 0 0 0 0 0 0 0 0\n")


def _mounts(base: Base) -> Files:
    table = "".join(f"{mount.source} {mount.mount} {mount.kind} {mount.options} 0 0\n" for mount in base.mounts)
    info = "".join(
        f"{number} {1 if mount.mount == '/' else 28} 0:{number} / {mount.mount} {mount.options} shared:{number} - "
        f"{mount.kind} {mount.source} "
        f"{mount.options.split(',')[0]}\n" for number, mount in enumerate(base.mounts, 28)
    )
    return {"/proc/1/mounts": table, "/proc/1/mountinfo": info, **link("/proc/self", "/proc/1"),
            **link("/proc/mounts", "/proc/self/mounts")}


def _pressure() -> Files:
    idle = "some avg10=0.00 avg60=0.00 avg300=0.00 total=81234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=40021\n"
    return {f"/proc/pressure/{kind}": idle for kind in ("cpu", "memory", "io")}


def _gpu_driver(node: Node) -> Files:
    """/proc/driver/nvidia; absent on a host without GPUs."""
    gpus, versions = node.base.gpus, node.base.versions
    if gpus is None:
        return {}
    files: Files = {
        "/proc/driver/nvidia/version": f"NVRM version: NVIDIA UNIX Open Kernel Module for {node.base.cpu_isa}  "
                                       f"{versions.driver}  Release Build  "
                                       f"(dvs-builder@U22-I3-B03-1)\nGCC version:  {gcc_banner(node.base)}\n",
        "/proc/driver/nvidia/params": "".join(f"{name}: {value}\n" for name, value in _PARAMS),
        "/proc/driver/nvidia/registry": 'Binary: ""\n',
    }
    for slot in node.slots:
        files[f"/proc/driver/nvidia/gpus/{slot.bus_id}/information"] = (
            f"Model: \t\t {gpus.name}\nIRQ:   \t\t {320 + slot.index * 12}\nGPU UUID: \t {slot.uuid}\n"
            f"Video BIOS: \t {versions.vbios.lower()}\n"
            f"Bus Type: \t PCIe\nDMA Size: \t 52 bits\nDMA Mask: \t 0xfffffffffffff\nBus Location: \t {slot.bus_id}\n"
            f"Device Minor: \t {slot.minor}\n"
            f"GPU Firmware: \t {versions.gsp}\nGPU Excluded:\t No\n"
        )
    return files


_PARAMS = (("ResmanDebugLevel", 4294967295), ("ModifyDeviceFiles", 1), ("DeviceFileUID", 0), ("DeviceFileGID", 0),
           ("DeviceFileMode", 438),
           ("EnableMSI", 1), ("EnablePCIeGen3", 0), ("MemoryPoolSize", 0), ("PreserveVideoMemoryAllocations", 0),
           ("EnableGpuFirmware", 18),
           ("EnableStreamMemOPs", 1), ("RmProfilingAdminOnly", 1), ("NvLinkDisable", 0), ("ImexChannelCount", 2048),
           ("RegistryDwords", '""'))
