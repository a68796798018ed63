"""Every check of a load, by the real plugin on recorded evidence: each fault fails exactly its checks in the right words, what only looks
like a fault fails nothing, what was not told or is no number is not measured. One run over one node a case."""

from __future__ import annotations

import fcntl
import os
from collections import defaultdict
from typing import Any

import loadevidence
import pytest
import yaml
from fleetrun import CHECKS, run_pytest
from loadevidence import GPUS, changed, event, gpu, healthy, sums

from fleetcheck import checkbook, outliers

XID = "NVRM: Xid (PCI:0000:61:00): {}, pid='<unknown>', name=<unknown>, {}"
BURNIN = CHECKS / "burnin"


def wrong(load: str, number: int = 3, **mismatch: Any) -> dict[str, Any]:
    place = {"address": 0x7F0010, "expected": "aaaaaaaa", "got": "aaaaaaab", "pattern": "walking ones", **mismatch}
    return {gpu(load, "mismatch_count", number): 2, gpu(load, "mismatches", number): [place]}


def slow_links(*pairs: tuple[int, int]) -> Any:
    def change(told: Any) -> None:
        for link in told["peerlink"]["links"]:
            if (link["from"], link["to"]) in pairs:
                link["gb_s"] = 118.0
    return change


def slow_side(told: Any) -> None:
    """Memory of the second NUMA node is slow; its GPUs reach their rate from the first."""
    for link in told["hostlink"]["links"]:
        if "node 1" in (link["from"], link["to"]):
            link["gb_s"] *= 0.6


def death(told: Any) -> None:
    told["gemm"]["devices"][3]["error"] = "CUDA error: an illegal memory access was encountered"
    told["gemm"].update(ok=False, error="GPU 3: CUDA error", coverage="7 of 8")
    told["telemetry"]["events"].append(event("process", "gemm on GPU 3 ended with signal 6"))


def wrong_at_the_limit(told: Any) -> None:
    """A wrong word that a load found before it ran out of its own cgroup."""
    loadevidence.out_of_its_limit(told)
    told["dram"]["devices"][0].update(mismatch_count=1, mismatches=[{"address": 0x7F0010, "expected": "aa", "got": "ab"}])


def lost(told: Any) -> None:
    """A GPU of which one load tells nothing."""
    del told["memtest"]["devices"][3]
    told["memtest"]["coverage"] = "7 of 8"


def drained(name: str) -> Any:
    """Only the first windows of a load."""
    def change(told: Any) -> None:
        told["telemetry"]["windows"] = [each for each in told["telemetry"]["windows"] if each["load"] != name]
    return change


FAULTS = {
    "a wrong word before the own limit": (wrong_at_the_limit, {"memory_keeps_every_pattern": "1 wrong: at 0x7f0010 ab instead of aa"}),
    # case: changes, {check: words of its message}
    "a slow GPU": ({gpu("gemm", "metrics.tflops_bf16"): 412.0}, {
        "matmul_reaches_its_floor": "GPU 3: tflops_bf16 412 (limit ≥ 675 TFLOP/s)",
        "no_gpu_multiplies_slower_than_its_peers": "GPU 3: tflops_bf16 412, 57% of the other accelerators' median"}),
    "a slow dtype without a floor": ({gpu("gemm", "metrics.tflops_fp32"): 31.0}, {
        "no_gpu_multiplies_slower_than_its_peers": "GPU 3: tflops_fp32 31, 62% of the other accelerators' median"}),
    "all slow alike": ({gpu("gemm", "metrics.tflops_bf16", number): 500.0 for number in range(GPUS)}, {
        "matmul_reaches_its_floor": "GPU 0: tflops_bf16 500 (limit ≥ 675 TFLOP/s)"}),
    "a wrong product": (wrong("gemm"), {"matmul_results_are_right": "GPU 3: 2 wrong: at 0x7f0010 aaaaaaab instead of aaaaaaaa (walking ones)"}),
    "a GPU that sinks": ({gpu("gemm", "tenths.tflops_bf16"): [720.0] * 5 + [600.0] * 5}, {
        "matmul_does_not_slow_down": "GPU 3: tflops_bf16 sank to 83% of its first tenth"}),
    "slow memory": ({gpu("hbm", "metrics.copy_gb_s"): 1500.0}, {
        "gpu_memory_is_fast_enough": "GPU 3: metrics.copy_gb_s 1500.0 (limit ≥ 2260 GB/s)",
        "no_gpu_memory_is_slower_than_its_peers": "GPU 3: copy_gb_s 1500, 58%"}),
    "memory that sinks": ({gpu("hbm", "tenths.copy_gb_s"): [2600.0] * 9 + [2200.0]}, {
        "gpu_memory_does_not_slow_down": "GPU 3: copy_gb_s sank to 85%"}),
    "a wrong copy": (wrong("hbm"), {"copies_within_gpu_memory_are_right": "GPU 3: 2 wrong: at 0x7f0010"}),
    "a stuck bit": (wrong("memtest"), {"gpu_memory_keeps_every_pattern": "GPU 3: 2 wrong: at 0x7f0010 aaaaaaab instead of aaaaaaaa (walking ones)"}),
    "half the memory tested": ({gpu("memtest", "metrics.tested_fraction"): 0.5}, {
        "nearly_all_gpu_memory_was_tested": "GPU 3: metrics.tested_fraction 0.5 (limit ≥ 0.9 of free memory)"}),
    "a slow way in": ({gpu("hostlink", "metrics.h2d_gb_s"): 13.0}, {
        "host_to_gpu_copies_are_fast_enough": "GPU 3: metrics.h2d_gb_s 13.0 (limit ≥ 48 GB/s)",
        "no_host_link_is_slower_than_its_peers": "GPU 3: h2d_gb_s 13, 24%"}),
    "a slow way out": ({gpu("hostlink", "metrics.d2h_gb_s"): 12.0}, {
        "gpu_to_host_copies_are_fast_enough": "GPU 3: metrics.d2h_gb_s 12.0 (limit ≥ 42 GB/s)",
        "no_host_link_is_slower_than_its_peers": "GPU 3: d2h_gb_s 12, 23%"}),
    "a host link that alters data": ({"hostlink.links.12.mismatch_count": 3}, {
        "data_arrives_whole_between_host_and_gpus": "node 0 → GPU 3: 3 values arrived otherwise than they were sent"}),
    "a slow NUMA node": (slow_side, {
        "no_side_of_the_host_is_slower_than_the_others": "node 1: h2d 32.4 GB/s with its own GPUs, 60%, d2h 31.2 GB/s with its own GPUs, 60%"}),
    "all links of a GPU slow": (slow_links(*((3, other) for other in range(8)), *((other, 3) for other in range(8))), {
        "peer_links_are_fast_enough": "GPU 3: GPU 0 → GPU 3 118 GB/s (limit ≥ 335 GB/s); 14 of its links are slow",
        "no_pair_of_gpus_is_slower_than_the_others": "GPU 3: GPU 0 → GPU 3 118 GB/s"}),
    "one slow pair": (slow_links((3, 5)), {
        "peer_links_are_fast_enough": "GPU 3: GPU 3 → GPU 5 118 GB/s (limit ≥ 335 GB/s); GPU 5: GPU 3 → GPU 5 118 GB/s",
        "no_pair_of_gpus_is_slower_than_the_others": "GPU 3 → GPU 5 118 GB/s"}),
    "a peer link that alters data": ({"peerlink.links.0.mismatch_count": 1}, {
        "data_arrives_whole_between_gpus": "GPU 0 → GPU 1: 1 values arrived otherwise"}),
    "a repeat that differs": (wrong("sdc", where="gemm-bf16-4096, repeat 7", address="gemm-bf16-4096, repeat 7"), {
        "gpus_repeat_their_results": "GPU 3: 2 wrong: at gemm-bf16-4096, repeat 7"}),
    "a later pass that differs": ({gpu("sdc", "checksum_changes"): [{"case": "step-fp32", "expected": "00000003", "got": "00000007"}]}, {
        "gpus_repeat_their_results": "GPU 3: 1 wrong: at step-fp32, a later pass 00000007 instead of 00000003"}),
    "an odd GPU": (sums(3), {
        "gpus_agree_with_each_other": "GPU 3: computes otherwise than its peers: gemm-bf16-4096 00000bad, on 7 of 8 it is 000000005eed"}),
    "GPUs half and half": ({key: value for number in range(4) for key, value in sums(number).items()}, {
        "gpus_agree_with_each_other": "GPU 0: accelerators differ and no majority says which is wrong"}),
    "a wrong product beside copies": (wrong("overlap"), {"results_beside_copies_are_right": "GPU 3: 2 wrong: at 0x7f0010"}),
    "a result that changed on its way": ({"sdc.undecided": [{"case": "step-fp32", "from": 2, "to": 5, "mismatch_count": 3,
                                                            "reason": "a result changed on the way and no third accelerator says at which end"}]}, {
        "gpus_agree_with_each_other": "GPU 2: step-fp32 from GPU 2 to GPU 5: a result changed on the way"}),
    "no overlap": ({gpu("overlap", "metrics.overlap_fraction"): 0.5}, {
        "copies_and_matmul_overlap": "GPU 3: metrics.overlap_fraction 0.5 (limit ≥ 0.75 of the rate alone)",
        "no_gpu_overlaps_less_than_its_peers": "GPU 3: overlap_fraction 0.5, 54%"}),
    "a wrong core": (wrong("cpu", 0, address="core 17"), {"processors_compute_rightly": "cpu: 2 wrong: at core 17"}),
    "slow processors": ({gpu("cpu", "metrics.rounds_s", 0): 900.0}, {"processors_are_fast_enough": "rounds_s 900 (limit ≥ 2000"}),
    "processors that sink": ({gpu("cpu", "tenths.rounds_s", 0): [3500.0] * 9 + [2000.0]}, {
        "processors_do_not_slow_down": "cpu: rounds_s sank to 57%"}),
    "host memory that forgets": (wrong("dram", 0), {"memory_keeps_every_pattern": "dram: 2 wrong: at 0x7f0010"}),
    "slow host memory": ({gpu("dram", "metrics.dram_gb_s", 0): 90.0}, {"memory_is_fast_enough": "dram_gb_s 90.0 (limit ≥ 200"}),
    "a disk that corrupts": (wrong("disk", 0), {"disk_returns_what_was_written": "disk: 2 wrong: at 0x7f0010"}),
    "a disk slow to write": ({gpu("disk", "metrics.disk_write_mb_s", 0): 90.0}, {"disk_writes_fast_enough": "disk_write_mb_s 90.0 (limit ≥ 1000"}),
    "a disk slow to read": ({gpu("disk", "metrics.disk_read_mb_s", 0): 90.0}, {"disk_reads_fast_enough": "disk_read_mb_s 90.0 (limit ≥ 2000"}),
    "a failed diagnostic": ({"dcgm.diagnostic.DCGM Diagnostic.test_categories.1.tests.1.results.3": {
        "entity_group": "GPU", "entity_id": 3, "status": "Fail", "warnings": [{"warning": "gflops too low"}]}}, {
        "vendor_diagnostic_passes": "GPU 3: diagnostic: gflops too low"}),
    "hardware heat": ({"windows[gemm].3.throttled_seconds": {"hw_slowdown": 4.0, "hw_thermal_slowdown": 4.0}}, {
        "hardware_never_slows_a_gpu_for_heat": "GPU 3: hw thermal slowdown for 16 of 440 s under load (3.64 %, limit ≤ 1 % of the load), most in minute 1 (gemm)"}),
    "hardware slowdown": ({"windows[gemm].3.throttled_seconds": {"hw_slowdown": 4.0}}, {
        "hardware_never_slows_a_gpu_otherwise": "GPU 3: hw slowdown for 16 of 440 s"}),
    "driver heat": ({"windows[hbm].3.throttled_seconds": {"sw_thermal_slowdown": 8.0}}, {
        "driver_never_slows_a_gpu_for_heat": "GPU 3: sw thermal slowdown for 32 of 440 s under load (7.27 %, limit ≤ 1 % of the load), most in minute 1 (hbm)"}),
    "power brake": ({"windows[gemm].3.throttled_seconds": {"hw_slowdown": 8.0, "hw_power_brake_slowdown": 8.0}}, {
        "no_power_brake_under_load": "GPU 3: hw power brake slowdown for 32 of 440 s"}),
    "no margin": ({"windows[sdc].3.margin": [-1, 0.5, 2]}, {"gpus_keep_their_margin_under_load": "GPU 3: margin -1 °C in minute 5 (sdc; limit ≥ 1 °C)"}),
    "too hot": ({"windows[gemm].3.temperature": [80, 86.0, 91]}, {"gpus_are_cool_under_load": "GPU 3: temperature 91 °C in minute 1 (gemm; limit ≤ 86 °C)"}),
    "hot memory": ({"windows[hbm].3.memory_temperature": [90, 96.0, 99]}, {
        "gpu_memory_is_cool_under_load": "GPU 3: memory_temperature 99 °C in minute 1 (hbm; limit ≤ 94 °C)"}),
    "a link that repeats packets": ({"windows[hostlink].3.pcie_replays": 900}, {
        "pcie_replays_do_not_grow_under_load": "GPU 3: 490.9 pcie replays a minute under load (limit ≤ 31 replays/min), 900 of them in minute"}),
    "a row that could not be remapped": ({"snapshots.after.gpu.data.gpus.3.remap.failure": 1}, {
        "gpu_memory_is_sound_after_the_loads": "GPU 3: under load: 1 row remap failed"}),
    "low clocks": ({"windows[gemm].3.sm_clock": [800, 900.0, 1000]}, {"clocks_hold_under_load": "GPU 3: sm_clock_of_peers 0.6316 (limit ≥ 0.9"}),
    "little power": ({"windows[gemm].3.power": [300.0, 350.0, 360.0]}, {
        "gpus_draw_their_power_under_load": "GPU 3: power_of_limit 0.5 (limit ≥ 0.75 of the power limit)"}),
    "a link trained down": ({"windows[gemm].3.pcie": [4, 16]}, {
        "pcie_links_run_at_full_speed_under_load": "GPU 3: PCIe generation 4, 16 lanes while busy (limit 5 generation, 16 lanes)"}),
    "a link of half width": ({"windows[gemm].3.pcie": [5, 8]}, {"pcie_links_run_at_full_speed_under_load": "GPU 3: PCIe generation 5, 8 lanes"}),
    "Xid 79": ({"telemetry.events": [event("xid", XID.format(79, "GPU has fallen off the bus."))]}, {
        "no_xid_under_load": "in minute 13 of the loads, under gemm (2026-11-30T03:14:07Z)"}),
    "Xid 48": ({"telemetry.events": [event("xid", XID.format(48, "An uncorrectable double bit error (DBE) has been detected"))]}, {
        "no_xid_under_load": "GPU 3: xid-48"}),
    "an uncorrectable error": ({"telemetry.events": [event("ecc", "GPU 3: ecc uncorrected grew by 2 (0 → 2)")]}, {
        "no_memory_error_under_load": "GPU 3: ecc uncorrected grew by 2 (0 → 2) in minute 13 of the loads, under gemm"}),
    "a corrected error told in pieces": ({"telemetry.events": [event("ecc", line, None) for line in (
        "{2}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 0", "{2}[Hardware Error]: event severity: corrected",
        "{2}[Hardware Error]:  Error 0, type: corrected")] + [event("aer", "pcieport 0000:00:01.0: AER: enabled with IRQ 34", None)]}, {
        "no_memory_error_under_load": "Hardware error from APEI", "no_pcie_error_under_load": "AER: enabled with IRQ 34"}),
    "an error that was not corrected told in pieces": ({"telemetry.events": [event("ecc", line, None) for line in (
        "{2}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 0", "{2}[Hardware Error]: event severity: fatal")]}, {
        "no_memory_error_under_load": "event severity: fatal"}),
    "a PCIe error": ({"telemetry.events": [event("aer", "GPU 3: aer nonfatal of 0000:61:00.0 grew by 1 (0 → 1)")]}, {
        "no_pcie_error_under_load": "GPU 3: aer nonfatal of 0000:61:00.0 grew by 1"}),
    "an NVLink recovery": ({"telemetry.events": [event("nvlink", "GPU 3: nvlink recovery of link 4 grew by 1 (0 → 1)")]}, {
        "no_nvlink_breaks_under_load": "GPU 3: nvlink recovery of link 4 grew by 1"}),
    "no memory left": ({"telemetry.events": [event("oom", "Out of memory: Killed process 4711 (python3)", None)]}, {
        "no_other_kernel_fault_under_load": "Out of memory: Killed process 4711 (python3)"}),
    "a storm of corrected errors": ({"windows[gemm].3.ecc.corrected": 52000}, {
        "corrected_memory_errors_do_not_storm_under_load": "GPU 3: 5200 corrected ecc a second in minute 1 (gemm; limit ≤ 1000 errors/s)"}),
    "NVLink errors": ({"windows[gemm].3.nvlink_errors": 1250}, {
        "nvlink_errors_do_not_grow_under_load": "GPU 3: 125 nvlink errors a second in minute 1 (gemm; limit ≤ 10 errors/s)"}),
    "a row remapped": ({"snapshots.after.gpu.data.gpus.3.remap.uncorrectable": 1, "snapshots.after.gpu.data.gpus.3.remap.pending": 1}, {
        "gpu_memory_is_sound_after_the_loads": "GPU 3: under load: 1 rows remapped for uncorrectable errors, 1 row remap pending"}),
    "a PCIe error of a drive": ({"snapshots.after.pci.data.functions.0.aer.fatal": 1}, {
        "pcie_is_sound_after_the_loads": "nvme at 0000:01:00.0: under load: 1 fatal PCIe errors"}),
    "a machine check": ({"snapshots.after.kernel_log.data.records": [*loadevidence.KMSG, {
        "facility": 0, "seconds": 900.0, "text": "nvme nvme3: I/O 12 QID 4 timeout, reset controller"}]}, {
        "kernel_log_is_clean_after_the_loads": "nvme"}),
    "a reboot": ({"load.state": "rebooted", "load.boot_id": "b2", "load.ended_why": "the node has booted since"}, {
        "node_does_not_reboot_under_load": "the node rebooted under load: boot b1, then b2", "loads_run_to_their_end": "the loads are rebooted"}),
    "a killed supervisor": ({"load.state": "gone", "load.ended_why": "the supervisor is gone without a word of its end (killed?)"}, {
        "loads_run_to_their_end": "the loads are gone: the supervisor is gone without a word"}),
    "a load that died with its device": (death, {
        "no_load_breaks_off": "GPU 3: gemm: CUDA error: an illegal memory access was encountered",
        "no_load_process_dies": "GPU 3: gemm on GPU 3 ended with signal 6 in minute 13 of the loads, under gemm",
        "loads_cover_every_device": "gemm: covered 7 of 8, not 8"}),
    "a device left out": (lost, {"loads_cover_every_device": "memtest: told of 7 of 8 accelerators"}),
    "a load that nobody watched": (drained("sdc"), {"loads_are_watched_all_the_time": "telemetry covers 0 of 40 s of sdc"}),
}
LOOKALIKES = {
    "one slow moment of heat": {"windows[gemm].3.throttled_seconds": {"sw_power_cap": 9.0, "hw_slowdown": 0.3}},
    "the power cap all the time": {"windows.3.throttled_seconds": {"sw_power_cap": 10.0}},
    "application clocks": {"windows.3.throttled_seconds": {"applications_clocks_setting": 10.0, "sync_boost": 10.0}},
    "five per cent between GPUs": {gpu("gemm", "metrics.tflops_bf16"): 684.0, gpu("hbm", "metrics.copy_gb_s"): 2470.0},
    "corrected symbols of NVLink": {"telemetry.events": [event("nvlink", "GPU 3: nvlink crc_flit of link 4 grew by 4 (20000 → 20004)")],
                                    "windows[gemm].3.nvlink_errors": 4},
    "few corrected errors": {"telemetry.events": [event("ecc", "GPU 3: ecc corrected grew by 3 (0 → 3)"),
                                                  event("aer", "GPU 3: aer correctable of 0000:61:00.0 grew by 2 (1 → 3)")],
                             "windows[gemm].3.ecc.corrected": 3},
    "a slow start and end of a link": {"telemetry.windows.1.gpus.3.pcie": [1, 16]},
    "a value that one window lacks": {"telemetry.windows.2.gpus.3.power": {"absent": "TIMEOUT"}},
    "a hung call named": {"telemetry.events": [event("telemetry", "telemetry hung for 12 s at GPU 3: nvmlDeviceGetTemperature")]},
    "old errors": {f"snapshots.{when}.gpu.data.gpus.3.{leaf}": 7 for when in ("before", "after") for leaf in ("ecc.volatile_uncorrected", "remap.uncorrectable")},
    "a little warm-up": {gpu("gemm", "tenths.tflops_bf16"): [740.0, 730.0] + [715.0] * 8},
    "a torch without fp8": {key: value for number in range(GPUS) for key, value in {
        gpu("gemm", "unsupported", number): {"fp8": "torch has no float8_e4m3fn"}, gpu("gemm", "metrics.tflops_fp8", number): ...,
        gpu("gemm", "tenths.tflops_fp8", number): ...}.items()},
    "a link that wakes": {"telemetry.windows.0.gpus.3.pcie_replays": 20},
    "far copies slower than near ones": lambda told: [link.update(gb_s=link["gb_s"] * 0.8) for link in told["hostlink"]["links"] if not link["local"]],
    "warm memory": {"windows[hbm].3.memory_temperature": [85, 90.0, 92]},
    "the deadline": {"load.ended_why": "deadline"},
}
SITE = {
    "cpu_rounds_per_second": {"low": 2000, "unit": "rounds/s", "source": "this site", "date": "2026-11-30"},
    "dram_gbytes_per_second": {"low": 200, "unit": "GB/s", "source": "this site", "date": "2026-11-30"},
    "disk_write_mbytes_per_second": {"low": 1000, "unit": "MB/s", "source": "this site", "date": "2026-11-30"},
    "disk_read_mbytes_per_second": {"low": 2000, "unit": "MB/s", "source": "this site", "date": "2026-11-30"},
}
"""Figures that only a site can give."""
OVERLAP = {"low": 0.75, "unit": "of the rate alone", "source": "this site", "date": "2026-11-30"}


def named() -> dict[str, Any]:
    """What lies behind each node."""
    cases = {"healthy": {}, "no-floors": {}, "host": {}, "few": {"gemm": ...}, "stand-in": {gpu(load, "uuid", number): f"cpu-{number}" for number in range(GPUS)
                                                                     for load in loadevidence.RATES if load not in ("cpu", "dram", "disk")}}
    cases |= {f"fault-{number}": changes for number, (changes, _) in enumerate(FAULTS.values())}
    return cases | {f"like-{number}": changes for number, changes in enumerate(LOOKALIKES.values())}


def inventory(cases: Any) -> dict[str, Any]:
    special = {"few": {"profile": "site", "load": {"loads": ["hbm", "cpu"]}}, "no-floors": {"profile": "h100-sxm5-8"},
               "host": {"profile": "cpu-host"}, "stand-in": {"profile": "site", "load": {"device": "cpu"}}}
    return {"fleet": "loads", "defaults": {"profile": "site", "scratch": "/scratch"}, "nodes": {name: special.get(name, {}) for name in cases}}


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """{node: {check: result}} of one replay; one for all xdist workers."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "loads"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "reports" / "latest").exists():
            _replay(folder)
    return _read(folder)


def _replay(folder: Any) -> None:
    cases, sound = named(), healthy()
    (folder / "profiles").mkdir(exist_ok=True)
    (folder / "profiles" / "site.yaml").write_text(yaml.safe_dump({"name": "site", "extends": "h100-sxm5-8", "load": SITE, "limits": {"overlap_fraction": OVERLAP}}))
    (folder / "loads.yaml").write_text(yaml.safe_dump(inventory(cases), sort_keys=False))
    (folder / "recorded").mkdir(exist_ok=True)
    (folder / "recorded" / "plan.jsonl").touch()
    lines = [loadevidence.line(name, changed(sound, changes)) for name, changes in cases.items()]
    (folder / "recorded" / "evidence.jsonl").write_text("\n".join(lines) + "\n")
    ended = run_pytest(BURNIN, "--inventory", "loads.yaml", "--replay", "recorded", "--tier", "burnin", "-q", "--no-summary", "--no-html", "-p", "no:cacheprovider",
                       cwd=folder, timeout=300)
    assert ended.status in (0, 1), ended.output


def _read(folder: Any) -> dict[str, dict[str, dict[str, Any]]]:
    from fleetrun import read_lines
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for each in read_lines(folder / "reports" / "latest" / "results.jsonl"):
        found[each["node"]][each["check"].removeprefix("test_")] = each
    return found


def ended(results: Any, node: str, outcome: str) -> dict[str, str]:
    return {check: each["message"] for check, each in results[node].items() if each["outcome"] == outcome}


def test_a_healthy_node_passes_every_check(results):
    assert {"passed"} == {each["outcome"] for each in results["healthy"].values()}, [
        (check, each["message"]) for check, each in results["healthy"].items() if each["outcome"] != "passed"]


def test_where_no_figure_is_known_the_check_does_not_apply(results):
    silent = {"processors_are_fast_enough", "memory_is_fast_enough", "disk_writes_fast_enough", "disk_reads_fast_enough", "copies_and_matmul_overlap"}
    assert silent == set(ended(results, "no-floors", "skipped"))
    assert {} == ended(results, "no-floors", "failed") | ended(results, "no-floors", "error")


def test_a_host_without_gpus_is_judged_on_its_own_loads(results):
    passed = set(ended(results, "host", "passed"))
    assert {"processors_compute_rightly", "memory_keeps_every_pattern", "disk_returns_what_was_written", "node_does_not_reboot_under_load"} <= passed
    assert {} == ended(results, "host", "failed") | ended(results, "host", "error")
    assert "profile cpu-host has no GPUs" == ended(results, "host", "skipped")["matmul_reaches_its_floor"]


def test_loads_that_the_inventory_leaves_out_do_not_apply(results):
    skipped = ended(results, "few", "skipped")
    assert "the inventory leaves gemm out: load: {loads: [hbm, cpu]}" == skipped["matmul_reaches_its_floor"]
    assert {"gpu_memory_keeps_every_pattern", "gpus_agree_with_each_other", "disk_returns_what_was_written", "memory_keeps_every_pattern"} <= set(skipped)
    assert {} == ended(results, "few", "failed") | ended(results, "few", "error")


def test_stand_ins_that_the_inventory_asks_for_are_not_judged_by_floors(results):
    skipped = set(ended(results, "stand-in", "skipped"))
    assert {"matmul_reaches_its_floor", "gpu_memory_is_fast_enough", "peer_links_are_fast_enough", "clocks_hold_under_load"} <= skipped
    failed = ended(results, "stand-in", "failed")
    assert {"loads_run_on_the_accelerators": "gemm: processors stood in for the accelerators: none of these was loaded"} == failed
    assert {} == ended(results, "stand-in", "error")
    assert {"no_gpu_multiplies_slower_than_its_peers", "gpus_agree_with_each_other", "gpu_memory_keeps_every_pattern"} <= set(ended(results, "stand-in", "passed"))


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_found_in_the_right_words_by_its_checks_alone(results, case):
    number, (_, wanted) = list(FAULTS).index(case), FAULTS[case]
    failed = ended(results, f"fault-{number}", "failed")
    assert set(wanted) == set(failed), (failed, ended(results, f"fault-{number}", "error"))
    assert [] == [(words, failed[check]) for check, words in wanted.items() if words not in failed[check]]


@pytest.mark.parametrize("case", LOOKALIKES)
def test_what_only_looks_like_a_fault_fails_nothing(results, case):
    node = f"like-{list(LOOKALIKES).index(case)}"
    assert {} == ended(results, node, "failed") | ended(results, node, "error")


def test_no_message_holds_an_error_of_the_checks_themselves(results):
    spoilt = {(node, check): each["message"] for node, checks in results.items() for check, each in checks.items()
              if "could not be evaluated" in each["message"]}
    assert {} == spoilt


def test_the_faulty_part_is_named_with_its_place_and_serial(results):
    number = list(FAULTS).index("a stuck bit")
    (part,) = results[f"fault-{number}"]["gpu_memory_keeps_every_pattern"]["parts"]
    assert {"kind": "gpu", "label": "GPU 3", "slot": "0000:61:00.0", "serial": "1650000103727"} == part


@pytest.mark.parametrize(("case", "severity"), [("a corrected error told in pieces", "warn"), ("an error that was not corrected told in pieces", "fatal")])
def test_pieces_of_a_report_weigh_what_the_report_says(results, case, severity):
    number = list(FAULTS).index(case)
    assert severity == results[f"fault-{number}"]["no_memory_error_under_load"]["severity"]


def test_no_reset_is_asked_for_a_row_that_cannot_be_remapped(results):
    number = list(FAULTS).index("a row that could not be remapped")
    assert "replace" == results[f"fault-{number}"]["gpu_memory_is_sound_after_the_loads"]["action"]


def test_every_check_of_a_load_has_a_fault():
    found = {check for _, wanted in FAULTS.values() for check in wanted}
    elsewhere = {"nodes_agree_with_each_other", "loads_run_on_the_accelerators"}
    assert {name.removeprefix("test_") for name in checkbook.names([BURNIN])} == found | elsewhere


def test_no_check_of_a_load_is_of_the_quick_tier():
    assert [] == [entry.name for entry in checkbook.read(BURNIN) if "quick" in entry.tiers]


def test_every_rate_of_a_load_can_be_compared_with_other_nodes(results):
    told = outliers.once(metric for each in results["no-floors"].values() for metric in each["metrics"] if outliers.is_rate(metric))
    wanted = {f"{load}.metrics.{rate}" for load, rates in loadevidence.RATES.items() for rate in rates if not rate.startswith(("tested", "overlap", "rounds", "proc"))}
    assert {*wanted, "peerlink.links.gb_s"} == told
