"""What a node did not tell of its loads, or told as nonsense, is not measured by any check that needs it; no leaf can be missed."""

from __future__ import annotations

import dataclasses
from typing import Any

import checking
import loadevidence
import pytest
from loadevidence import GPUS, changed, event, gpu, healthy, sums

from fleetcheck import inventory

NAN, HUGE = float("nan"), 1 << 64
BETWEEN_NODES = "test_nodes_agree_with_each_other"
HOSTILE = {
    # case: changes, checks that must not be measured (none of them, nor any other, may fail)
    "nothing of a load": ({"gemm": {}}, "matmul_reaches_its_floor no_gpu_multiplies_slower_than_its_peers matmul_results_are_right matmul_does_not_slow_down"),
    "text for a rate": ({gpu("gemm", "metrics.tflops_bf16"): "fast"}, "matmul_reaches_its_floor no_gpu_multiplies_slower_than_its_peers"),
    "a negative rate": ({gpu("hbm", "metrics.copy_gb_s"): -1.0}, "gpu_memory_is_fast_enough no_gpu_memory_is_slower_than_its_peers"),
    "no number": ({gpu("hbm", "metrics.copy_gb_s"): NAN}, "gpu_memory_is_fast_enough no_gpu_memory_is_slower_than_its_peers"),
    "two to the 64th": ({gpu("hbm", "metrics.copy_gb_s"): HUGE}, "gpu_memory_is_fast_enough no_gpu_memory_is_slower_than_its_peers"),
    "fp8 on all GPUs but one": ({gpu("gemm", "unsupported"): {"fp8": "no"}, gpu("gemm", "metrics.tflops_fp8"): ...}, "matmul_reaches_its_floor"),
    "no dtype at all": ({key: value for number in range(GPUS) for key, value in {
        gpu("gemm", "unsupported", number): {"bf16": "no", "fp8": "no"}, gpu("gemm", "metrics", number): {}}.items()}, "matmul_reaches_its_floor"),
    "passes of text": ({gpu("hbm", "lowest"): "slow"}, "gpu_memory_is_fast_enough"),
    "nine tenths": ({gpu("gemm", "tenths.tflops_bf16"): [720.0] * 9}, "matmul_does_not_slow_down"),
    "eleven tenths": ({gpu("gemm", "tenths.tflops_bf16"): [720.0] * 11}, "matmul_does_not_slow_down"),
    "tenths of text": ({gpu("gemm", "tenths.tflops_bf16"): ["x"] * 10}, "matmul_does_not_slow_down"),
    "a negative count": ({gpu("memtest", "mismatch_count"): -1}, "gpu_memory_keeps_every_pattern"),
    "a count of text": ({gpu("memtest", "mismatch_count"): "none"}, "gpu_memory_keeps_every_pattern"),
    "devices as text": ({"memtest.devices": "all"}, "gpu_memory_keeps_every_pattern nearly_all_gpu_memory_was_tested"),
    "a device twice": ({"memtest.devices.3.index": 2}, "gpu_memory_keeps_every_pattern nearly_all_gpu_memory_was_tested"),
    "a device that is none": ({"memtest.devices.3": 5}, "gpu_memory_keeps_every_pattern nearly_all_gpu_memory_was_tested"),
    "no coverage": ({"hbm.coverage": "all"}, "gpu_memory_is_fast_enough copies_within_gpu_memory_are_right"),
    "not ok": ({"sdc.ok": False, "sdc.error": ""}, "gpus_repeat_their_results gpus_agree_with_each_other"),
    "a missing pair": ({"peerlink.links.5": ...}, "peer_links_are_fast_enough data_arrives_whole_between_gpus"),
    "links as text": ({"peerlink.links": "fast"}, "peer_links_are_fast_enough data_arrives_whole_between_gpus"),
    "a link of text": ({"peerlink.links.5.gb_s": "fast"}, "peer_links_are_fast_enough no_pair_of_gpus_is_slower_than_the_others"),
    "one side of the host": ({"hostlink.links": []}, "data_arrives_whole_between_host_and_gpus"),
    "a checksum of numbers": (sums(3, 5), "gpus_agree_with_each_other"),
    "a case that one GPU lacks": (sums(3, ...), "gpus_agree_with_each_other"),
    "undecided by text": ({"sdc.undecided": "all"}, "gpus_agree_with_each_other"),
    "undecided about nobody": ({"sdc.undecided": [{"case": "x", "from": "y", "to": None}]}, "gpus_agree_with_each_other"),
    "no checksums": ({gpu("sdc", "checksums"): {}}, "gpus_agree_with_each_other"),
    "on processors unasked": ({gpu(load, "uuid", number): f"cpu-{number}" for number in range(GPUS) for load in ("gemm", "sdc")},
                              "matmul_reaches_its_floor no_gpu_multiplies_slower_than_its_peers"),
    "a GPU in use before": ({"snapshots.before.gpu.data.gpus.3.processes": [{"pid": 7, "name": "python3", "job": "4711", "memory_bytes": 70 << 30}],
                             gpu("gemm", "metrics.tflops_bf16"): 400.0}, "matmul_reaches_its_floor no_gpu_multiplies_slower_than_its_peers"),
    "a load out of its own limit": (loadevidence.out_of_its_limit, "memory_keeps_every_pattern loads_cover_every_device no_load_breaks_off"),
    "a GPU whose memory another process holds": (loadevidence.without_memory, "matmul_reaches_its_floor loads_cover_every_device no_load_breaks_off"),
    "processors that others used": ({gpu("cpu", "tenths.rounds_s", 0): [3500.0] * 9 + [2000.0], gpu("cpu", "tenths.processor_share", 0): [0.98] * 9 + [0.6]},
                                    "processors_do_not_slow_down"),
    "nobody knows who used the processors": ({gpu("cpu", "tenths.rounds_s", 0): [3500.0] * 9 + [2000.0], gpu("cpu", "tenths.processor_share", 0): ...},
                                             "processors_do_not_slow_down"),
    "nothing printed": ({"dcgm.diagnostic": ""}, "vendor_diagnostic_passes"),
    "all skipped": ({"dcgm.diagnostic.DCGM Diagnostic.test_categories": [{"category": "Hardware", "tests": [{"name": "memory", "results": [
        {"entity_group": "GPU", "entity_id": number, "status": "Skip"} for number in range(GPUS)]}]}]}, "vendor_diagnostic_passes"),
    "one GPU diagnosed": ({"dcgm.diagnostic.DCGM Diagnostic.test_categories": [{"category": "Hardware", "tests": [{"name": "memory", "results": [
        {"entity_group": "GPU", "entity_id": 0, "status": "Pass"}]}]}]}, "vendor_diagnostic_passes"),
    "windows as text": ({"telemetry.windows": "many"}, "no_xid_under_load gpus_are_cool_under_load clocks_hold_under_load loads_are_watched_all_the_time"),
    "a window without its GPU": ({"telemetry.windows.2.gpus.3": ...}, "gpus_are_cool_under_load hardware_never_slows_a_gpu_for_heat"),
    "a window of text": ({"telemetry.windows.2.t": "soon"}, "gpus_are_cool_under_load hardware_never_slows_a_gpu_for_heat"),
    "a window before time": ({"telemetry.windows.2.t": -5.0}, "gpus_are_cool_under_load"),
    "a margin of text": ({"windows[gemm].3.margin": ["a", "b", "c"]}, "gpus_keep_their_margin_under_load"),
    "a margin of two": ({"windows[gemm].3.margin": [20, 21.0]}, "gpus_keep_their_margin_under_load"),
    "a margin upside down": ({"windows[gemm].3.margin": [30, 20.0, 10]}, "gpus_keep_their_margin_under_load"),
    "a margin never told": ({"windows.3.margin": {"absent": "UNKNOWN"}}, "gpus_keep_their_margin_under_load"),
    "a dead sensor": ({"windows.3.temperature": [0, 0.0, 0], "windows.3.memory_temperature": [0, 0.0, 0]},
                      "gpus_are_cool_under_load gpu_memory_is_cool_under_load"),
    "replays set back": ({"windows[gemm].3.pcie_replays": -5}, "pcie_replays_do_not_grow_under_load"),
    "a temperature left out": ({"telemetry.windows.2.gpus.3.temperature": ...}, "gpus_are_cool_under_load"),
    "a temperature beyond all": ({"windows[gemm].3.temperature": [40, 50.0, HUGE]}, "gpus_are_cool_under_load"),
    "reasons as a list": ({"windows[gemm].3.throttled_seconds": ["idle"]}, "hardware_never_slows_a_gpu_for_heat no_power_brake_under_load"),
    "reasons for less than no time": ({"windows[gemm].3.throttled_seconds": {"hw_slowdown": -5}}, "hardware_never_slows_a_gpu_otherwise"),
    "never busy": ({"windows.3.utilisation": [0, 0.0, 0]}, "clocks_hold_under_load gpus_draw_their_power_under_load pcie_links_run_at_full_speed_under_load"),
    "events as text": ({"telemetry.events": "none"}, "no_xid_under_load no_memory_error_under_load no_pcie_error_under_load no_load_process_dies no_nvlink_breaks_under_load"),
    "an event of text": ({"telemetry.events": ["Xid 79"]}, "no_xid_under_load no_other_kernel_fault_under_load"),
    "an event that never was": ({"telemetry.events": [event("xid", "x", t=NAN)]}, "no_xid_under_load"),
    "a kernel log nobody could read": ({f"snapshots.{when}.kernel_log.data": {"records": {"absent": "permission denied: /dev/kmsg"}} for when in ("before", "after")},
                                       "no_xid_under_load no_memory_error_under_load kernel_log_is_clean_after_the_loads"),
    "no snapshot after": ({"snapshots.after": ...}, "gpu_memory_is_sound_after_the_loads pcie_is_sound_after_the_loads kernel_log_is_clean_after_the_loads"),
    "no snapshot at all": ({"snapshots": {}}, "gpu_memory_is_sound_after_the_loads pcie_is_sound_after_the_loads kernel_log_is_clean_after_the_loads"),
    "counters set back": ({"snapshots.before.gpu.data.gpus.3.ecc.volatile_uncorrected": 9}, "gpu_memory_is_sound_after_the_loads"),
    "another GPU after": ({"snapshots.after.gpu.data.gpus.3.identity.uuid": "GPU-other"}, "gpu_memory_is_sound_after_the_loads"),
    "ended nobody knows how": ({"load": {}}, "node_does_not_reboot_under_load loads_run_to_their_end"),
    "stopped by somebody": ({"load.ended_why": "stopped"}, "loads_run_to_their_end"),
    "no boot id": ({"load.started_boot_id": ""}, "node_does_not_reboot_under_load"),
    "nothing at all": (lambda told: told.clear(), "matmul_results_are_right no_xid_under_load node_does_not_reboot_under_load loads_cover_every_device "
                       "vendor_diagnostic_passes disk_returns_what_was_written gpus_agree_with_each_other loads_are_watched_all_the_time"),
}


@pytest.fixture(scope="module")
def bench() -> Any:
    fleet = inventory.load(checking.ROOT / "inventories" / "sandbox.yaml")
    files = sorted((checking.ROOT / "checks" / "burnin").glob("test_*.py"))
    modules = tuple(checking.module(f"checks/burnin/{file.name}") for file in files)
    node = dataclasses.replace(fleet.nodes[0], scratch="/scratch")
    return checking.Bench(modules, checking.module("checks/burnin/conftest.py"), node, fleet.profiles["h100-sxm5-8"])


@pytest.fixture(scope="module")
def sound() -> Any:
    return healthy()


def names(bench: Any) -> list[str]:
    return [name for name in bench.names() if name != BETWEEN_NODES]


@pytest.mark.parametrize("case", HOSTILE)
def test_what_was_not_told_is_not_measured(bench, sound, case):
    changes, wanted = HOSTILE[case]
    answers = loadevidence.as_answers(changed(sound, changes))
    ended = {name.removeprefix("test_"): bench.run(name, answers) for name in names(bench)}
    unmeasured = {name for name, end in ended.items() if end.outcome == "error"}
    assert set(wanted.split()) <= unmeasured, {name: ended[name] for name in set(wanted.split()) - unmeasured}
    failed = {name: end.message for name, end in ended.items() if end.outcome == "failed" and bench.marks(f"test_{name}")["severity"] != "warn"}
    assert {} == failed


def read_by(path: tuple[Any, ...], reads: frozenset[str]) -> bool:
    """Whether a check's reads cover a leaf, numbers of devices, windows and GPUs left out."""
    steps = [str(step) for step in path if isinstance(step, str) and not step.isdigit()]
    dotted = ".".join(step for step in steps if step not in ("devices", "windows", "gpus"))
    return any(dotted == read or dotted.startswith(f"{read}.") for read in reads)


def test_no_check_passes_without_a_leaf_it_reads(bench, sound):
    answers = loadevidence.as_answers(sound)
    passing = {name: frozenset(end.reads) for name in names(bench) if (end := bench.run(name, answers)).outcome == "passed"}
    paths = [path for path in checking.leaves(sound) if ablated(path)]
    passed, run = [], 0
    for path in paths:
        readers = [name for name, reads in passing.items() if read_by(path, reads)]
        told = loadevidence.as_answers(changed(sound, {".".join(map(str, path)): ...})) if readers else {}
        run += len(readers)
        passed += [(name, path) for name in readers if bench.run(name, told).outcome == "passed"]
    assert len(paths) > 100 and run > 150, (len(paths), run)
    assert [] == passed


def ablated(path: tuple[Any, ...]) -> bool:
    """GPU 3, and what a load says of itself: of telemetry one window in the middle of the matmul; a reason that is not listed held nothing."""
    if path[0] == "telemetry":
        return path[1:3] == ("windows", 1) and ("gpus" not in path or path[3:5] == ("gpus", "3")) and "throttled_seconds" not in path[:-1]
    if path[0] in ("snapshots", "dcgm"):
        return False
    return "devices" not in path or path[2] == (0 if path[0] in ("cpu", "dram", "disk") else 3)


def test_a_node_that_told_nothing_passes_nothing(bench):
    ended = {name: bench.run(name, {}).outcome for name in names(bench)}
    assert {"error", "skipped"} == set(ended.values())
    assert {"test_processors_are_fast_enough", "test_memory_is_fast_enough", "test_disk_writes_fast_enough", "test_disk_reads_fast_enough",
            "test_copies_and_matmul_overlap"} == {
        name for name, outcome in ended.items() if outcome == "skipped"}


def test_no_check_passes_without_what_a_snapshot_counts(bench, sound):
    checks = {"test_gpu_memory_is_sound_after_the_loads": [f"gpu.data.gpus.3.{leaf}" for leaf in (
        "ecc.volatile_uncorrected", "remap.uncorrectable", "remap.pending", "remap.failure", "ecc", "remap")] + ["gpu.data.gpus.3", "gpu.data.gpus", "gpu"],
              "test_pcie_is_sound_after_the_loads": ["pci.data.functions.0.aer.fatal", "pci.data.functions.0.aer", "pci.data.functions", "pci"],
              "test_kernel_log_is_clean_after_the_loads": ["kernel_log.data.records", "kernel_log"]}
    for check, leaves in checks.items():
        for leaf in leaves:
            for when in ("before", "after"):
                told = changed(sound, {f"snapshots.{when}.{leaf}": ...})
                assert "error" == bench.run(check, loadevidence.as_answers(told)).outcome, (check, when, leaf)


def test_a_measured_fault_stands_though_another_device_told_nothing(bench, sound):
    told = changed(sound, {gpu("gemm", "metrics.tflops_bf16", 5): 400.0, gpu("gemm", "metrics.tflops_bf16"): ...})
    ended = bench.run("test_matmul_reaches_its_floor", loadevidence.as_answers(told))
    assert ("failed", ["GPU 5: tflops_bf16 400 (limit ≥ 675 TFLOP/s)"]) == (ended.outcome, [each.text for each in ended.offenders])


def test_one_slow_pass_of_several_is_not_hidden_by_their_mean(bench, sound):
    told = changed(sound, {gpu("hbm", "lowest"): {"copy_gb_s": 1200.0}, gpu("gemm", "lowest"): {"tflops_bf16": 300.0, "tflops_fp8": 1300.0}})
    memory, matmul = (bench.run(name, loadevidence.as_answers(told)) for name in ("test_gpu_memory_is_fast_enough", "test_matmul_reaches_its_floor"))
    assert "GPU 3: lowest.copy_gb_s 1200.0 (limit ≥ 2260 GB/s)" == memory.offenders[0].text
    assert "GPU 3: tflops_bf16 300 (limit ≥ 675 TFLOP/s)" == matmul.offenders[0].text


def test_an_xid_outweighs_a_kernel_log_with_gaps(bench, sound):
    xid = event("xid", "NVRM: Xid (PCI:0000:61:00): 79, pid=1, name=python, GPU has fallen off the bus.")
    told = changed(sound, {"telemetry.events": [xid], "snapshots.after.kernel_log": ...})
    ended = bench.run("test_no_xid_under_load", loadevidence.as_answers(told))
    assert ("failed", "fatal") == (ended.outcome, ended.offenders[0].severity)
