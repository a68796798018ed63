"""Healthy nodes with the variation that healthy nodes show; ``make noise`` runs 1,000 of them and says what that proves.

``python tests/faults/noise.py [--nodes N] [--seed N]``
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT)]

import faultrun  # noqa: E402
import hardwareparts  # noqa: E402
import wording  # noqa: E402
from corpus import ANY_HOST, GPUS, Fault, Injection  # noqa: E402

Overrides = dict[str, Any]
DRIVERS = {  # branch: version, CUDA, and the calls its library does not have
    470: ("470.256.02", 11040, ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetGpuFabricInfo", "nvmlDeviceGetGpuFabricInfoV",
                                "nvmlDeviceGetMarginTemperature", "nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetTemperatureV")),
    525: ("525.147.05", 12000, ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetMarginTemperature",
                                "nvmlDeviceGetSramEccErrorStatus", "nvmlDeviceGetTemperatureV")),
    535: ("535.230.02", 12020, ("nvmlDeviceGetGpuFabricInfoV", "nvmlDeviceGetMarginTemperature", "nvmlDeviceGetSramEccErrorStatus",
                                "nvmlDeviceGetTemperatureV")),
    550: ("550.144.03", 12040, ("nvmlDeviceGetMarginTemperature", "nvmlDeviceGetTemperatureV")),
    570: ("570.133.20", 12080, ("nvmlDeviceGetRepairStatus",)),
    580: ("580.95.05", 13000, ()),
}
HARMLESS = (
    "<6>EXT4-fs (sda1): mounted filesystem with ordered data mode", "<6>CPU0: Core temperature/speed normal", "<5>nfs: server fs-a OK",
    "<4>NVRM: GPU 0000:3b:00.0 NV_WARN_NOTHING_TO_DO", "<6>pcieport 0000:00:01.0: AER: enabled with IRQ 34", "<6>usb 1-1: USB disconnect, device number 4",
    "<6>{1}[Hardware Error]: event severity: corrected", "<6>perf: interrupt took too long (2519 > 2500), lowering kernel.perf_event_max_sample_rate to 79250",
    "<6>oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/job,task_memcg=/job,task=python,pid=7,uid=1000",
    "<12>agent[77]: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", "<30>health: saw 'NVRM: Xid (PCI:0000:3b:00): 48' in kern.log",
    "<6>mlx5_core 0000:5c:00.0: Port module event: module 0, Cable plugged", "<6>nvme nvme1: 63/0/0 default/read/poll queues",
    "<4>nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12021, Non-fatal, Link 32 egress ECC limit",
    "<6>[   30.000000] mlx5_core 0000:18:00.0 ibp24s0: Link down", "<6>device-mapper: uevent: version 1.0.3", "<3>python3[4711]: segfault at 0 ip 0 sp 0 error 4 in libtorch.so",
)


def nvml(call: str, **said: Any) -> Overrides:
    """One NVML override."""
    return {"nvml": [{"call": call, **said}]}


def joined(parts: Sequence[Overrides]) -> Overrides:
    """Overrides of several variations together."""
    whole: Overrides = {}
    for part in parts:
        for kind, said in part.items():
            whole[kind] = [*whole.get(kind, []), *said] if isinstance(said, list) else {**whole.get(kind, {}), **said} if isinstance(said, dict) else said
    return whole


def temperatures(rng: random.Random, gpus: int, low: int = 27, high: int = 37) -> Overrides:
    """Every GPU a little different."""
    return joined([
        joined([nvml("nvmlDeviceGetTemperature", gpu=gpu, value=celsius), nvml("nvmlDeviceGetTemperatureV", gpu=gpu, value={"temperature": celsius})])
        for gpu in range(gpus) for celsius in [rng.randint(low, high)]
    ])


def idle_links(rng: random.Random, gpus: int) -> Overrides:
    """Generations fall while a GPU is idle, on some and not on others."""
    found = [nvml("nvmlDeviceGetCurrPcieLinkGeneration", gpu=gpu, value=rng.choice((1, 1, 2, 4))) for gpu in range(gpus) if rng.random() < 0.7]
    speeds = {f"/sys/bus/pci/devices/{{gpu{gpu}.bus_id}}/current_link_speed": "2.5 GT/s PCIe\n" for gpu in range(gpus) if rng.random() < 0.5}
    return joined([*found, {"files": speeds}])


def old_errors(rng: random.Random, gpus: int) -> Overrides:
    """Totals of a board's life that stand still, and a few corrected errors."""
    gpu = rng.randrange(gpus)
    return joined([
        nvml("nvmlDeviceGetTotalEccErrors", gpu=gpu, args={"errorType": 1, "counterType": 1}, value=rng.randint(1, 3)),
        nvml("nvmlDeviceGetTotalEccErrors", gpu=gpu, args={"errorType": 0, "counterType": 0}, value=rng.randint(1, 5000)),
        nvml("nvmlDeviceGetRemappedRows", gpu=gpu, value={"corrRows": 0, "uncRows": rng.randint(1, 4), "isPending": 0, "failureOccurred": 0}),
        nvml("nvmlDeviceGetPcieReplayCounter", gpu=gpu, value=rng.randint(1, 900)),
    ])


def busy(rng: random.Random, gpus: int) -> Overrides:
    """A job on all GPUs: hot, drawing, held by the power cap, memory full."""
    processes = [{"pid": 48213, "usedGpuMemory": 40 << 30, "gpuInstanceId": 0xFFFFFFFF, "computeInstanceId": 0xFFFFFFFF}]
    each = [
        joined([nvml("nvmlDeviceGetComputeRunningProcesses_v3", gpu=gpu, value=processes), nvml("nvmlDeviceGetMemoryInfo_v2", gpu=gpu, value={"used": 41 << 30})])
        for gpu in range(gpus)
    ]
    return joined([*each, temperatures(rng, gpus, 58, 69), {"busy": str(rng.randrange(1000, 999_999))}])


def reasons(rng: random.Random, gpus: int) -> Overrides:
    """Clock event reasons of health."""
    mask = rng.choice((0, 1, 5, 2, 0x10, 0x100, 0x101))
    return joined([nvml(f"nvmlDeviceGetCurrentClocks{word}Reasons", value=mask) for word in ("Event", "Throttle")])


def driver(rng: random.Random, gpus: int) -> Overrides:
    """A driver of another branch, with what its library lacks; a warning at most."""
    version, cuda, lacking = DRIVERS[rng.choice(list(DRIVERS))]
    said = [nvml("nvmlSystemGetDriverVersion", value=version), nvml("nvmlSystemGetCudaDriverVersion_v2", value=cuda),
            nvml("nvmlDeviceGetGspFirmwareVersion", value=version), *(nvml(call, absent=True) for call in lacking)]
    if version < "570":
        said.append(nvml("nvmlDeviceGetFieldValues", args={"field": "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION"}, **{"return": "NOT_SUPPORTED"}))
    manager = {"commands": {"nv-fabricmanager --version": {"stdout": f"Fabric Manager version is : {version}\n"}}}
    return joined([*said, {"files": {"/sys/module/nvidia/version": f"{version}\n"}}, manager])


def partitioned(rng: random.Random, gpus: int) -> Overrides:
    """MIG on one GPU, which then tells nothing of remapped rows."""
    gpu = rng.randrange(gpus)
    return joined([
        nvml("nvmlDeviceGetMigMode", gpu=gpu, value={"currentMode": 1, "pendingMode": 1}),
        *(nvml(call, gpu=gpu, **{"return": "NOT_SUPPORTED"}) for call in ("nvmlDeviceGetRemappedRows", "nvmlDeviceGetRowRemapperHistogram")),
    ])


def plain_board(rng: random.Random, gpus: int) -> Overrides:
    """Boards that support little, as consumer cards do."""
    calls = ("nvmlDeviceGetEccMode", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetMemoryErrorCounter", "nvmlDeviceGetSramEccErrorStatus",
             "nvmlDeviceGetRemappedRows", "nvmlDeviceGetRowRemapperHistogram", "nvmlDeviceValidateInforom", "nvmlDeviceGetMigMode", "nvmlDeviceGetMarginTemperature")
    return joined([nvml(call, **{"return": "NOT_SUPPORTED"}) for call in rng.sample(calls, rng.randint(3, len(calls)))])


def asleep(rng: random.Random, gpus: int) -> Overrides:
    """NVLinks in their low-power state."""
    return joined([nvml("nvmlDeviceGetNvLinkState", value=2), nvml("nvmlDeviceGetFieldValues", args={"field": "NVML_FI_DEV_NVLINK_GET_STATE"}, value=2)])


def just_booted(rng: random.Random, gpus: int) -> Overrides:
    """A planned reboot: short uptime, links still training here and there."""
    gpu, port = rng.randrange(gpus), f"/sys/class/infiniband/{{hca{rng.randrange(4)}}}/ports/1"
    training = [
        {"files": {f"{port}/state": "2: INIT\n"}}, {"files": {f"{port}/state": "1: DOWN\n", f"{port}/phys_state": "4: PortConfigurationTraining\n"}},
        joined([nvml("nvmlDeviceGetNvLinkState", gpu=gpu, value=0), nvml("nvmlDeviceGetGpuFabricInfoV", gpu=gpu, value={"state": 2})]), {},
    ]
    return joined([{"files": {"/proc/uptime": f"{rng.randint(45, 560)}.25 900.00\n"}}, rng.choice(training)])


def earlier_boot(rng: random.Random, gpus: int) -> Overrides:
    """A fatal Xid before the last reboot."""
    line = wording.xid_line(rng, rng.randrange(gpus), rng.choice((79, 48, 119, 74, 95)), "GPU has fallen off the bus.")
    return {"previous_boot": [line]}


def user_faults(rng: random.Random, gpus: int) -> Overrides:
    """Xids of users' programs."""
    return {"kmsg": [wording.xid_line(rng, rng.randrange(gpus), rng.choice((13, 31, 43, 45, 69)), "Ch 00000010", owner="job") for _ in range(rng.randint(1, 4))]}


def counters(rng: random.Random, gpus: int) -> Overrides:
    """Corrected bits, congestion and old totals of fabric ports."""
    port = f"/sys/class/infiniband/{{hca{rng.randrange(4)}}}/ports/1/counters"
    return {"files": {f"{port}/port_xmit_wait": {"start": rng.randint(0, 10**9), "per_second": rng.randint(1, 10**6)}, f"{port}/symbol_error": f"{rng.randint(1, 900)}\n",
                      f"{port}/link_error_recovery": f"{rng.randint(1, 9)}\n"}}


def corrected_bits(rng: random.Random, gpus: int) -> Overrides:
    """A PAM4 link that its error correction keeps sound."""
    text = "NIC statistics:\n     rx_crc_errors_phy: 0\n     rx_symbol_err_phy: 386\n     rx_corrected_bits_phy: {n}\n     rx_discards_phy: 91\n"
    return {"commands": {"ethtool -S {link0}": {"stdout": {"text": text, "n": {"start": rng.randint(0, 10**9), "per_second": rng.randint(1, 10**6)}}}}}


def kernel_lines(rng: random.Random, gpus: int) -> Overrides:
    """Lines that mean nothing."""
    return {"kmsg": rng.sample(HARMLESS, rng.randint(2, len(HARMLESS)))}


def long_uptime(rng: random.Random, gpus: int) -> Overrides:
    """Up for months."""
    return {"files": {"/proc/uptime": f"{rng.randint(10**6, 3 * 10**7)}.00 9.00\n"}}


def compressed_swap(rng: random.Random, gpus: int) -> Overrides:
    """zram."""
    return {"files": {"/proc/swaps": f"Filename\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/zram0 partition\t8388604\t{rng.randint(0, 9999)}\t100\n"}}


def processes(rng: random.Random, gpus: int) -> Overrides:
    """Other processes: kernel threads, one waiting for a disk for a moment, one that has just ended."""
    files: Overrides = {}
    for pid in rng.sample(range(5000, 900_000), rng.randint(1, 6)):
        name, state = rng.choice((("kworker/7:2-events", "I"), ("java", "S"), ("tar (x) y", "D"), ("node: worker", "R"), ("[bash] x", "S")))
        files[f"/proc/{pid}/comm"] = f"{name}\n"
        files[f"/proc/{pid}/stat"] = f"{pid} ({name}) {state} 1 {pid} {pid} 0 -1 4194304 9 0 1 0 3 1 0 0 20 0 1 0 9000 18422 412 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0\n"
        files[f"/proc/{pid}/status"] = {
            "text": f"Name:\t{name}\nState:\t{state}\nPid:\t{pid}\nPPid:\t1\nUid:\t1000\t1000\t1000\t1000\nvoluntary_ctxt_switches:\t{{n}}\n", "n": {"start": 5, "per_second": 30}}
    return {"files": files}


def other_clock(rng: random.Random, gpus: int) -> Overrides:
    """systemd-timesyncd in place of chrony, or chrony following a PTP clock of the network card."""
    row = ("Reference ID    : 50484330 (PHC0)\nStratum         : 1\nRef time (UTC)  : Mon Nov 30 08:00:00 2026\nSystem time     : 0.000000012 seconds fast of NTP time\n"
           "Last offset     : +0.000000010 seconds\nRMS offset      : 0.000000100 seconds\nLeap status     : Normal\n")
    timesyncd = {"chronyc": None, "timedatectl show": {"stdout": "Timezone=Europe/Berlin\nLocalRTC=no\nCanNTP=yes\nNTP=yes\nNTPSynchronized=yes\n"},
                 "timedatectl timesync-status": {"stdout": "       Server: 10.20.255.1 (ntp)\nPoll interval: 34min 8s\n         Leap: normal\n      Version: 4\n      Stratum: 2\n       Offset: -1.250ms\n"}}
    return {"commands": rng.choice((timesyncd, {"chronyc tracking": {"stdout": row}}))}


def old_event_log(rng: random.Random, gpus: int) -> Overrides:
    """Events of a controller's long life."""
    year = 31_536_000
    return hardwareparts.sel((2 * year, "Processor CPU1 Status | IERR | Asserted"), (year, "Power Supply PS1 Status | Power Supply AC lost | Asserted"),
                             (year - 60, "Power Supply PS1 Status | Power Supply AC lost | Deasserted"))


def drained(rng: random.Random, gpus: int) -> Overrides:
    """An administrator's drain."""
    said = f"NodeName={wording.NODE} Arch=x86_64\n   Gres=gpu:{gpus}\n   State=IDLE+DRAIN ThreadsPerCore=2\n   Reason=firmware update [ops@2026-11-29T10:00:00]\n"
    return {"commands": {"scontrol show node": {"stdout": said}, "sinfo": {"stdout": f"{wording.NODE} drained firmware update\n"}}}


Variation = Callable[[random.Random, int], Overrides]
OF_HOSTS: tuple[Variation, ...] = (kernel_lines, long_uptime, compressed_swap, processes, other_clock, old_event_log, drained)
OF_GPUS: tuple[Variation, ...] = (
    temperatures, idle_links, old_errors, busy, reasons, driver, partitioned, plain_board, asleep, just_booted, earlier_boot, user_faults, counters, corrected_bits)
EXCLUSIVE = ({"busy", "temperatures"}, {"just_booted", "long_uptime"}, {"old_errors", "plain_board", "partitioned"}, {"busy", "drained"}, {"driver", "plain_board"},
             {"busy", "reasons"})
"""Variations that speak of the same thing."""


def healthy(count: int, seed: int) -> list[Injection]:
    """Healthy nodes, each with variation of its own."""
    return [_node(number, seed) for number in range(count)]


def _node(number: int, seed: int) -> Injection:
    rng = random.Random(f"{seed}/healthy/{number}")
    profile = rng.choice(ANY_HOST)
    gpus = GPUS.get(profile, 0)
    known = [*OF_HOSTS, *OF_GPUS] if gpus else list(OF_HOSTS)
    chosen: list[Variation] = []
    for variation in rng.sample(known, rng.randint(0, 5)):
        names = {each.__name__ for each in chosen}
        if not any(variation.__name__ in pair and names & pair for pair in EXCLUSIVE):
            chosen.append(variation)
    about = Fault(id="healthy " + " ".join(each.__name__ for each in chosen), component="noise")
    return Injection(about, number, profile, joined([variation(rng, gpus) for variation in chosen]))


def main() -> int:
    """Run them, say what came of them; 0 when nothing degraded or failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fleetcheck-noise-") as folder:  # warnings of many nodes at once are one finding
        told = faultrun.run(healthy(asked.nodes, asked.seed), Path(folder), asked.seed, apart="always")
    print(summary(told))
    return int(any(each.false_alarms or each.misjudged for each in told))


def summary(told: Sequence[faultrun.Told]) -> str:
    """False alarms by node, and the bound that none proves."""
    wrong = [each for each in told if each.false_alarms or each.misjudged]
    lines = [f"{each.injection.name} ({each.injection.profile}): {'; '.join([*each.misjudged, *each.false_alarms])}" for each in wrong]
    unmeasured = Counter(f"{check}: {result['message'].partition(';')[0][:100]}" for each in told for check, result in each.unmeasured.items())
    lines += [f"{count} × not measured: {check}" for check, count in unmeasured.most_common(12)]
    bound = f"at 95 % confidence fewer than {3 / len(told):.2%} of healthy nodes are blamed (rule of three)" if not wrong else "no bound"
    return "\n".join([f"{len(told)} healthy nodes, {len(wrong)} with a degraded or failed finding: {bound}", *lines])


if __name__ == "__main__":
    sys.exit(main())
