"""/sys/devices/system of a healthy node: processors, NUMA nodes, memory controllers, clock source."""

from __future__ import annotations

from fleetcheck.sandbox.machine.base import Base
from fleetcheck.sandbox.machine.cpus import Cpus
from fleetcheck.sandbox.machine.entries import Files, ranges, tree
from fleetcheck.sandbox.machine.memory import node_meminfo

CPU = "/sys/devices/system/cpu"
NODE = "/sys/devices/system/node"
EDAC = "/sys/devices/system/edac/mc"

_VULNERABILITIES = {
    "meltdown": "Not affected", "l1tf": "Not affected", "mds": "Not affected", "itlb_multihit": "Not affected",
    "tsx_async_abort": "Not affected",
    "spectre_v1": "Mitigation: usercopy/swapgs barriers and __user pointer sanitization", "retbleed": "Not affected",
    "srbds": "Not affected", "spectre_v2": "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; RSB filling",
    "gather_data_sampling": "Not affected",
    "spec_store_bypass": "Mitigation: Speculative Store Bypass disabled via prctl", "mmio_stale_data": "Not affected",
}


def shared(base: Base) -> Files:
    """The same for every node of the profile."""
    cpus = base.cpus
    everything = f"0-{cpus.threads - 1}"
    files = tree(CPU, {"online": everything, "present": everything, "possible": everything, "offline": "",
                       "isolated": "", "kernel_max": 8191, "smt/active": int(cpus.smt > 1),
                       "smt/control": "on" if cpus.smt > 1 else "notsupported"})
    files |= tree(f"{CPU}/vulnerabilities", _VULNERABILITIES)
    if cpus.processor.driver == "intel_pstate":
        files |= tree(f"{CPU}/intel_pstate", {"status": "active", "no_turbo": 0, "max_perf_pct": 100,
                                              "min_perf_pct": 100})
    for cpu in range(cpus.threads):
        files |= _thread(cpus, cpu)
    files |= tree("/sys/devices/system/clocksource/clocksource0", _clocksource(cpus))
    return files | _numa(base) | _memory_controllers(base)


def _thread(cpus: Cpus, cpu: int) -> Files:
    core = cpus.core_of(cpu)
    per_socket = cpus.cores // cpus.sockets
    chip = cpus.processor
    files = tree(f"{CPU}/cpu{cpu}", {
        "topology/physical_package_id": cpus.socket_of(cpu), "topology/core_id": core % per_socket,
        "topology/thread_siblings_list": ranges(sorted(cpus.siblings(cpu))), "cpufreq/scaling_governor": cpus.governor,
        "cpufreq/cpuinfo_max_freq": chip.highest_khz,
        "cpufreq/scaling_cur_freq": chip.base_khz if cpu % 7 else chip.highest_khz,
    })
    if cpu:
        files[f"{CPU}/cpu{cpu}/online"] = "1\n"
    if chip.isa == "x86_64":
        files |= tree(f"{CPU}/cpu{cpu}/thermal_throttle", {"core_throttle_count": 0, "package_throttle_count": 0})
    return files


def _clocksource(cpus: Cpus) -> dict[str, object]:
    if cpus.processor.isa == "aarch64":
        return {"current_clocksource": "arch_sys_counter", "available_clocksource": "arch_sys_counter"}
    return {"current_clocksource": "tsc", "available_clocksource": "tsc hpet acpi_pm"}


def cpus_of_node(cpus: Cpus, number: int) -> list[int]:
    """The threads of a NUMA node; none for one that holds GPU memory."""
    return [cpu for cpu in range(cpus.threads) if cpus.node_of(cpu) == number]


def _numa(base: Base) -> Files:
    cpus = base.cpus
    everything = range(cpus.numa_nodes)
    files = tree(NODE, {"online": ranges(everything), "possible": ranges(everything),
                        "has_cpu": ranges(range(cpus.processor_nodes)), "has_memory": ranges(everything),
                        "has_normal_memory": ranges(range(cpus.processor_nodes))})
    for number in everything:
        files |= _numa_node(base, number)
    return files


def _numa_node(base: Base, number: int) -> Files:
    cpus = base.cpus
    holds_cpus = number < cpus.processor_nodes
    files = tree(f"{NODE}/node{number}", {
        "cpulist": ranges(cpus_of_node(cpus, number)) if holds_cpus else "",
        "distance": " ".join("10" if other == number else "21"
                             for other in range(cpus.numa_nodes)),
        "numastat": "numa_hit 991203811\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 21210\nlocal_node 991100114\n"
                    "other_node 103697",
        "hugepages/hugepages-2048kB/nr_hugepages": 0, "hugepages/hugepages-2048kB/free_hugepages": 0,
    })
    files[f"{NODE}/node{number}/meminfo"] = node_meminfo(base, number)
    return files


def _memory_controllers(base: Base) -> Files:
    """EDAC: one memory controller for each two DIMMs; no error since boot."""
    dimms = base.server.dimms
    kind = f"{'Unbuffered' if base.server.dimm_kind.startswith('LP') else 'Registered'}-{base.server.dimm_kind}"
    files: Files = {}
    for controller in range(dimms // 2):
        folder = f"{EDAC}/mc{controller}"
        files |= tree(folder, {"ue_count": 0, "ce_count": 0, "ue_noinfo_count": 0, "ce_noinfo_count": 0,
                               "seconds_since_reset": 0, "size_mb": 2 * base.server.dimm_gibibytes * 1024,
                               "mc_name": _controller_name(base, controller)})
        for slot in range(2):
            files |= tree(f"{folder}/dimm{slot}", {
                "dimm_ce_count": 0, "dimm_ue_count": 0, "dimm_label": dimm_label(base, 2 * controller + slot),
                "dimm_location": f"channel {slot} slot 0", "dimm_mem_type": kind, "dimm_edac_mode": "S4ECD4ED",
                "dimm_dev_type": "x4", "size": base.server.dimm_gibibytes * 1024})
    return files


def _controller_name(base: Base, number: int) -> str:
    sockets = base.cpus.sockets
    per_socket = max(base.server.dimms // 2 // sockets, 1)
    if base.cpus.processor.vendor != "GenuineIntel":
        return f"MC{number}"
    return f"Intel_10nm Socket#{number // per_socket} IMC#{number % per_socket}"


def dimm_label(base: Base, number: int) -> str:
    """The slot's name on the board, ``P1-DIMMA1``."""
    per_socket = max(base.server.dimms // base.cpus.sockets, 1)
    socket, slot = divmod(number, per_socket)
    return f"P{socket + 1}-DIMM{chr(65 + slot // 2)}{slot % 2 + 1}"
