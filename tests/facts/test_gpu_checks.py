"""Every check of the GPU side passes on a recorded healthy H100 node, fails on its fault in the right words, and is not
measured without what it reads."""

from __future__ import annotations

from typing import Any

import checking
import pytest

from fleetcheck import inventory
from fleetcheck.facts.driver import Driver
from fleetcheck.profiles import load_profile

GPU = "gpu.gpus.3."
LOST = {"absent": "GPU_IS_LOST"}
UNSUPPORTED = {"absent": "NOT_SUPPORTED"}
SUBJECTS = ("software", "gpu", "gpu_memory", "nvlink", "pcie", "thermal_power")


def bench_of(profile: str) -> Any:
    fleet = inventory.load(checking.ROOT / "inventories" / "sandbox.yaml")
    modules = tuple(checking.module(f"checks/node/test_{subject}.py") for subject in SUBJECTS)
    shared = checking.module("checks/node/conftest.py")
    return checking.Bench(modules, shared, fleet.nodes[0], fleet.profiles["h100-sxm5-8"])


@pytest.fixture(scope="module")
def bench() -> Any:
    return bench_of("h100-sxm5-8")


@pytest.fixture(scope="module")
def healthy() -> Any:
    return {**checking.recorded_answers("h100_gpu_answer.json"), "system": {"busy": []}}


FAULTS = [
    # check, changes, message, severity and action where they differ from the check's own
    ("driver_is_loaded", {"gpu.driver.init_code": "DRIVER_NOT_LOADED"}, "NVML returned DRIVER_NOT_LOADED: the nvidia kernel module is not loaded"),
    ("nvml_library_is_installed", {"gpu.driver.init_code": "LIBRARY_NOT_FOUND"}, "NVML returned LIBRARY_NOT_FOUND: libnvidia-ml.so.1 is not installed"),
    ("driver_and_library_versions_agree", {"gpu.driver.init_code": "LIB_RM_VERSION_MISMATCH"},
     "NVML returned LIB_RM_VERSION_MISMATCH: its library is not of the kernel module's version, 570.133.20"),
    ("driver_and_library_versions_agree", {"gpu.driver.module_version": "570.86.15"}, "the kernel module is 570.86.15, NVML tells driver 570.133.20"),
    ("driver_and_library_versions_agree", {"gpu.driver.module_version": "570.86.15", "gpu.driver.version": "570.99"}, "NVML tells driver 570.99"),
    ("driver_and_library_versions_agree", {"gpu.driver.init_code": "LIB_RM_VERSION_MISMATCH", "system.busy": ["slurm 4711"]},
     "not of the kernel module's version, 570.133.20; slurm 4711 goes on", "warn", "observe"),
    ("driver_answers", {"gpu.driver.init_code": "UNKNOWN"}, "NVML returned UNKNOWN at its start"),
    ("driver_calls_return", {"gpu.driver.hung_call": "GPU 3: nvmlDeviceGetName (process state D)"},
     "no return from GPU 3: nvmlDeviceGetName (process state D)"),
    ("driver_version_is_allowed", {"gpu.driver.version": "535.161.08"}, "535.161.08"),
    ("cuda_driver_version_is_allowed", {"gpu.driver.cuda_version": "12.2"}, "12.2"),
    ("vbios_versions_are_allowed", {GPU + "identity.vbios": "90.00.01.00.01"},
     "GPU 3: identity.vbios 90.00.01.00.01 (limit 96.00."),
    ("gsp_firmware_is_allowed", {GPU + "identity.gsp_firmware": "535.161.08"}, "GPU 3: identity.gsp_firmware 535.161.08 (limit 570.133.20)"),
    ("persistence_mode_is_as_promised", {GPU + "modes.persistence": 0}, "GPU 3: modes.persistence_mode disabled (limit enabled)"),
    ("all_gpus_visible", {"gpu.driver.device_count": 7}, "NVML counts 7 of 8 GPUs"),
    ("all_gpus_are_on_the_pci_bus", {"pci.functions.{gpu}": ...}, "7 of 8 GPUs on the PCI bus"),
    ("no_gpu_has_fallen_off_the_bus", {"pci.functions.{gpu}.revision": "0xff"},
     "GPU at {address}: reads as all ones (rev ff): nothing answers at this address"),
    ("no_gpu_has_fallen_off_the_bus", {"pci.functions.{gpu}.all_ones": True},
     "GPU at {address}: configuration space reads as all ones: nothing answers here"),
    ("every_gpu_has_a_device_node", {"gpu.driver.device_nodes": 7}, "7 device nodes for 8 GPUs in /dev"),
    ("no_gpu_is_lost", {GPU + "handle_code": "GPU_IS_LOST"}, "GPU 3: NVML returned GPU_IS_LOST to nvmlDeviceGetHandleByIndex"),
    ("no_gpu_is_lost", {GPU + "handle_code": "UNKNOWN"}, "GPU 3: NVML returned UNKNOWN to nvmlDeviceGetHandleByIndex"),
    ("no_gpu_is_lost", {GPU + "calls.bad.GPU_IS_LOST": "nvmlDeviceGetUUID nvmlDeviceGetName"},
     "GPU 3: NVML returned GPU_IS_LOST to nvmlDeviceGetUUID and 1 more"),
    ("no_gpu_is_lost", {GPU + "calls.bad.UNKNOWN": "nvmlDeviceGetNvLinkState"}, "GPU 3: NVML returned UNKNOWN to nvmlDeviceGetNvLinkState"),
    ("no_gpu_is_lost", {GPU + "calls.bad.UNKNOWN": "nvmlDeviceGetName nvmlDeviceGetUUID nvmlDeviceGetSerial"},
     "GPU 3: NVML returned UNKNOWN to nvmlDeviceGetName and 2 more"),
    ("no_gpu_is_lost", {GPU + "calls.bad.IRQ_ISSUE": "nvmlDeviceGetName"}, "GPU 3: NVML returned IRQ_ISSUE to nvmlDeviceGetName"),
    ("no_gpu_requires_a_reset", {GPU + "handle_code": "RESET_REQUIRED"}, "GPU 3: NVML returned RESET_REQUIRED to nvmlDeviceGetHandleByIndex"),
    ("no_recovery_action_is_pending", {GPU + "modes.recovery_action": 1}, "GPU 3: the driver asks for a GPU reset"),
    ("no_recovery_action_is_pending", {GPU + "modes.recovery_action": 2}, "GPU 3: the driver asks for a node reboot", "fatal", "reboot"),
    ("no_recovery_action_is_pending", {GPU + "modes.recovery_action": 3},
     "GPU 3: the driver asks to drain peer-to-peer traffic, then reset", "degraded", "reset-gpu"),
    ("no_recovery_action_is_pending", {GPU + "modes.recovery_action": 9}, "GPU 3: the driver asks for recovery action 9"),
    ("inforom_is_intact", {GPU + "identity.inforom_code": "CORRUPTED_INFOROM"}, "GPU 3: InfoROM is corrupt (NVML CORRUPTED_INFOROM)"),
    ("inforom_is_intact", {GPU + "calls.bad.CORRUPTED_INFOROM": "nvmlDeviceGetInforomImageVersion"}, "GPU 3: InfoROM is corrupt (NVML CORRUPTED_INFOROM)"),
    ("compute_mode_is_as_promised", {GPU + "modes.compute": 3}, "GPU 3: modes.compute_mode exclusive-process (limit default)"),
    ("mig_mode_is_as_promised", {GPU + "modes.mig_current": 1}, "GPU 3: modes.mig_current_mode enabled (limit disabled)"),
    ("mig_mode_is_as_promised", {GPU + "modes.mig_pending": 1}, "GPU 3: modes.mig_pending_mode enabled (limit disabled)"),
    ("no_gpu_is_clocked_below_its_peers", {GPU + "clocks.graphics_application_mhz": 1200}, "GPU 3: applications get 1200 MHz, 1980 MHz on most GPUs"),
    ("no_two_gpus_have_the_same_name", {GPU + "identity.uuid": "GPU-7", "gpu.gpus.5.identity.uuid": "GPU-7"}, "GPU 3: same UUID as GPU 5: GPU-7"),
    ("no_two_gpus_have_the_same_name", {GPU + "identity.serial": "1650000100999", "gpu.gpus.5.identity.serial": "1650000100999"},
     "GPU 3: same serial number as GPU 5: 1650000100999", "warn", "observe"),
    ("gpu_product_is_as_promised", {GPU + "identity.name": "NVIDIA H100 PCIe"}, "GPU 3: identity.name NVIDIA H100 PCIe (limit NVIDIA H100 80GB HBM3)"),
    ("power_limits_are_readable", {GPU + "power.default_limit_watts": {"absent": "UNKNOWN"}}, "GPU 3: power limit unreadable: default (UNKNOWN)"),
    ("idle_gpus_hold_no_memory", {GPU + "memory.used_bytes": 5 << 30},
     "GPU 3: 5.0 GiB held outside any job (limit 1.0 GiB) by no visible process"),
    ("idle_gpus_hold_no_memory", {GPU + "processes": [{"pid": 4711, "uid": 1000, "name": "python3", "job": "", "memory_bytes": 3 << 30}]},
     "GPU 3: 3.0 GiB held outside any job (limit 1.0 GiB) by python3 (pid 4711, uid 1000)"),
    ("gpus_are_used_by_jobs_only", {GPU + "processes": [{"pid": 4711, "uid": 1000, "name": "python3", "job": "", "memory_bytes": 3 << 20}]},
     "GPU 3: in use outside any job by python3 (pid 4711, uid 1000)"),
    ("gpu_memory_is_complete", {GPU + "memory.total_bytes": 64 << 30}, "GPU 3: memory.total_bytes 68719476736 (limit ≥ 8.5e+10 and ≤ 8.6e+10 bytes)"),
    ("ecc_is_enabled", {GPU + "ecc.mode_current": 0}, "GPU 3: ecc.mode_current_mode disabled (limit enabled)"),
    ("ecc_is_enabled", {GPU + "ecc.mode_pending": 0}, "GPU 3: ecc.mode_pending_mode disabled (limit enabled)"),
    ("no_uncorrectable_ecc_errors_since_boot", {GPU + "ecc.volatile_uncorrected": 2}, "GPU 3: ecc.volatile_uncorrected 2"),
    ("no_uncorrectable_ecc_errors_since_boot", {GPU + "ecc.sram_volatile_uncorrected": 3}, "GPU 3: ecc.volatile_uncorrected 3"),
    ("corrected_ecc_errors_do_not_storm", {GPU + "counters.corrected": [250000, 255200], GPU + "counters.seconds": 1.04},
     "GPU 3: counters.corrected_per_second 5000.0 (limit ≤ 1000 errors/s)"),
    ("sram_errors_are_below_the_threshold", {GPU + "ecc.sram_threshold_exceeded": 1}, "GPU 3: ecc.sram_threshold_exceeded 1"),
    ("sram_has_no_uncorrectable_errors", {GPU + "ecc.sram_aggregate_uncorrected": 3}, "GPU 3: ecc.sram_aggregate_uncorrected 3 (limit ≤ 0 errors)"),
    ("no_row_remap_is_pending", {GPU + "remap.pending": 1}, "GPU 3: remap.pending 1"),
    ("no_row_remap_is_pending", {GPU + "remap.pending_field": 1}, "GPU 3: remap.pending 1"),
    ("row_remapping_has_not_failed", {GPU + "remap.failure": 1}, "GPU 3: remap.failure 1"),
    ("row_remapping_has_not_failed", {GPU + "remap.failure_field": 1}, "GPU 3: remap.failure 1"),
    ("remapped_rows_are_within_limit", {GPU + "remap.uncorrectable": 600}, "GPU 3: remap.uncorrectable 600 (limit ≤ 512 rows)"),
    ("no_memory_bank_is_out_of_spare_rows", {GPU + "remap.banks_none": 1}, "GPU 3: remap.banks_none 1"),
    ("no_memory_repair_is_pending", {f"gpu.gpus.{gpu}.remap.{part}_repair_pending": int(gpu == 3) for gpu in range(8) for part in ("channel", "tpc")},
     "GPU 3: remap.channel_repair_pending 1"),
    ("gpu_memory_is_repairable", {f"gpu.gpus.{gpu}.remap.unrepairable": int(gpu == 3) for gpu in range(8)}, "GPU 3: remap.unrepairable 1"),
    ("nvlinks_are_up", {GPU + "nvlink.state.4": 0}, "GPU 3: nvlink.active_links 17 (limit 18 links)"),
    ("nvlinks_are_up", {GPU + "nvlink.state_field.4": 0}, "GPU 3: nvlink.active_links 17 (limit 18 links)"),
    ("nvlinks_are_up", {GPU + "nvlink.state": [0] * 18}, "GPU 3: nvlink.active_links 0 (limit 18 links)"),
    ("nvlinks_run_at_full_speed", {GPU + "nvlink.speed_mbytes_per_second.4": 13281},
     "GPU 3: nvlink.link_4_mbytes_per_second 13281 (limit ≥ 26000 and ≤ 27000 MB/s)"),
    ("nvlink_errors_do_not_grow", {GPU + "counters.nvlink.crc_flit.1.4": 125, GPU + "counters.seconds": 1.0},
     "GPU 3: counters.link_4_crc_flit_per_second 125.0 (limit ≤ 10 errors/s)"),
    ("nvlink_errors_do_not_grow", {GPU + "counters.nvlink.replay.1.4": 3, GPU + "counters.seconds": 1.0},
     "GPU 3: NVLink errors grow by 3 a second", "warn", "observe"),
    ("nvlink_symbol_error_rates_are_low", {GPU + "nvlink.symbol_ber_packed.4": 3 << 8 | 8}, "GPU 3: nvlink.link_4_symbol_ber_exponent 8 (limit ≥ 255)"),
    ("nvlink_symbol_error_rates_are_low", {GPU + "nvlink.effective_ber_packed.4": 3 << 8 | 9}, "GPU 3: nvlink.link_4_effective_ber_exponent 9 (limit ≥ 255)"),
    ("gpus_are_registered_with_the_fabric", {GPU + "fabric.state": 1},
     "GPU 3: fabric state 1 (1 not started, 2 in progress), not completed: see nvidia-fabricmanager"),
    ("gpus_are_registered_with_the_fabric", {GPU + "fabric.status": 999}, "GPU 3: fabric registration ended with NVML code 999", "fatal", "reset-gpu"),
    ("fabric_is_healthy", {GPU + "fabric.health_mask": 0x1AA & ~0x30 | 0x10}, "GPU 3: fabric health mask 0x19a: route unhealthy"),
    ("fabric_is_healthy", {GPU + "fabric.health_mask": 0x5AA}, "GPU 3: fabric health mask 0x5aa: too few NVLinks"),
    ("fabric_is_healthy", {GPU + "fabric.health_summary": 3}, "GPU 3: fabric health summary 3: limited capacity (health mask 0x1aa)"),
    ("gpus_reach_their_peers", {GPU + "peers.5": 5}, "GPU 3: no peer access to GPU 5 (status 5)"),
    ("gpu_links_are_full_width", {GPU + "pcie.width": 8}, "GPU 3: pcie.width 8 (limit 16 lanes)"),
    ("gpu_slots_are_full_width", {"pci.functions.{gpu}.current_width": 8}, "GPU at {address}: current_width 8 (limit 16 lanes)"),
    ("pcie_replays_do_not_grow", {GPU + "counters.pcie_replays": [10, 15], GPU + "counters.seconds": 1.0},
     "GPU 3: counters.pcie_replays_per_minute 300.0 (limit ≤ 31 replays/min)"),
    ("no_uncorrectable_pcie_errors", {"pci.functions.{gpu}.aer.nonfatal": 2}, "GPU at {address}: 2 uncorrectable non-fatal PCIe errors since boot"),
    ("no_uncorrectable_pcie_errors", {"pci.functions.{gpu}.port_aer.fatal": 1},
     "GPU at {address}: port {port}: 1 fatal PCIe errors since boot", "fatal", "isolate"),
    ("acs_is_off", {"pci.acs.enabled": ["0000:00:01.0", "0000:01:00.0"], "pci.acs.told": 12},
     "ACS is on at 2 of 12 devices: 0000:00:01.0, 0000:01:00.0"),
    ("correctable_pcie_errors_do_not_grow", {"pci.functions.{gpu}.aer.correctable": [3, 503], "pci.seconds": 1.0},
     "GPU at {address}: aer.correctable_per_second 500.0 (limit ≤ 10 errors/s)"),
    ("gpus_are_cool", {GPU + "thermal.temperature_celsius": 91}, "GPU 3: thermal.temperature_celsius 91 (limit ≤ 86 °C)"),
    ("gpus_are_cool", {GPU + "thermal.temperature_celsius": 33, GPU + "thermal.slowdown_celsius": 30}, "GPU 3: 33 °C, slowdown at 30 °C"),
    ("gpus_keep_their_temperature_margin", {GPU + "thermal.margin_celsius": -3}, "GPU 3: thermal.margin_celsius -3 (limit ≥ 1 °C)"),
    ("gpu_memory_is_cool", {GPU + "thermal.memory_celsius": 99}, "GPU 3: thermal.memory_celsius 99 (limit ≤ 94 °C)"),
    ("no_gpu_is_hotter_than_its_peers", {GPU + "thermal.temperature_celsius": 60}, "GPU 3: thermal.celsius_above_the_node_median"),
    ("no_hardware_thermal_slowdown", {GPU + "samples.event_reasons": [0x48] * 3}, "GPU 3: hardware thermal slowdown in 3 of 3 samples (event reason 0x40)"),
    ("no_hardware_slowdown", {GPU + "samples.event_reasons": [0x48] * 3}, "GPU 3: hardware slowdown in 3 of 3 samples (event reason 0x8)"),
    ("no_software_thermal_slowdown", {GPU + "samples.event_reasons": [0x20] * 3}, "GPU 3: software thermal slowdown in 3 of 3 samples (event reason 0x20)"),
    ("no_power_brake", {GPU + "samples.event_reasons": [0x80] * 3}, "GPU 3: power brake in 3 of 3 samples (event reason 0x80)"),
    ("power_cap_holds_no_gpu_below_it", {GPU + "samples.event_reasons": [4] * 3, GPU + "samples.power_watts": [150.0] * 3},
     "GPU 3: held down by the power cap (event reason 0x4) at 150 of 700 W"),
    ("power_limits_are_as_promised", {GPU + "power.enforced_limit_watts": 300.0}, "GPU 3: power.enforced_limit_watts 300.0 (limit 700 W)"),
    ("power_limits_are_as_promised", {GPU + "power.management_limit_watts": 650.0}, "GPU 3: power.management_limit_watts 650.0 (limit 700 W)"),
    ("gpus_have_enough_power", {GPU + "calls.bad.INSUFFICIENT_POWER": "nvmlDeviceGetName"}, "GPU 3: NVML returned INSUFFICIENT_POWER to nvmlDeviceGetName"),
    ("power_draw_is_readable", {GPU + "samples.power_watts": [{"absent": "UNKNOWN"}] * 3}, "GPU 3: power draw unreadable in 3 of 3 samples: UNKNOWN"),
    ("power_draw_is_readable", {GPU + "samples.power_watts": [4100.0] * 3}, "GPU 3: samples.power_watts 4100.0 (limit ≥ 5 and ≤ 1500 W)"),
]


def applied(answers: Any, changes: dict[str, Any]) -> tuple[Any, dict[str, str]]:
    """The answers with changes; ``{gpu}`` is a GPU's place among the PCI functions."""
    place = next(number for number, each in enumerate(answers["pci"]["functions"]) if each["kind"] == "gpu")
    function = answers["pci"]["functions"][place]
    for path, value in changes.items():
        answers = checking.changed(answers, path.replace("{gpu}", str(place)), value)
    return answers, {"address": function["address"], "port": function["port"]}


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{number}-{fault[0]}" for number, fault in enumerate(FAULTS)])
def test_a_fault_is_found_in_the_right_words(bench, healthy, fault):
    check, changes, message, *judgement = fault
    answers, words = applied(healthy, changes)
    ended = bench.run(f"test_{check}", answers)
    said = ended.offenders[0].text if ended.offenders else ended.message
    assert ("failed", True) == (ended.outcome, message.format(**words) in said), (ended.outcome, said)
    if judgement:
        marks = bench.marks(f"test_{check}")
        assert judgement == [ended.offenders[0].severity or marks["severity"], ended.offenders[0].action or marks["action"]]


def test_every_check_has_a_fault(bench):
    without_retirement = {"test_retired_pages_are_within_limit", "test_no_page_retirement_is_pending"}
    assert without_retirement == set(bench.names()) - {f"test_{fault[0]}" for fault in FAULTS}


def test_a_healthy_node_passes_every_check_that_applies(bench, healthy):
    ended = {name: bench.run(name, healthy) for name in bench.names()}
    assert {} == {name: end for name, end in ended.items() if end.outcome not in ("passed", "skipped")}
    assert {"test_retired_pages_are_within_limit", "test_no_page_retirement_is_pending", "test_no_memory_repair_is_pending",
            "test_gpu_memory_is_repairable"} == {name for name, end in ended.items() if end.outcome == "skipped"}


OLD_DRIVER = {
    "gpu.driver.version": "470.57.02", "gpu.driver.module_version": "470.57.02",
    **{f"gpu.gpus.{gpu}.{leaf}": {"absent": "FUNCTION_NOT_FOUND"} for gpu in range(8) for leaf in (
        "thermal.margin_celsius", "fabric.health_mask", "ecc.sram_threshold_exceeded", "remap.unrepairable")},
    **{f"gpu.gpus.{gpu}.{leaf}": UNSUPPORTED for gpu in range(8) for leaf in ("modes.recovery_action", "remap.pending_field")},
}
LOOKALIKES = {
    "an idle link's generation": {GPU + "pcie.generation": 1},
    "a slot of a lower generation": {GPU + "pcie.generation_maximum": 4, GPU + "pcie.generation": 4},
    "a slowdown in one sample": {GPU + "samples.event_reasons": [1, 9, 1]},
    "idle with the power cap bit": {GPU + "samples.event_reasons": [5, 5, 5]},
    "old uncorrectable errors": {GPU + "ecc.aggregate_uncorrected": 1, GPU + "remap.uncorrectable": 1, GPU + "remap.uncorrectable_field": 1},
    "few corrected errors": {GPU + "ecc.volatile_corrected": 120, GPU + "counters.corrected": [120, 120]},
    "old CRC errors": {f"{GPU}counters.nvlink.crc_flit.{sample}.4": 20000 for sample in (0, 1)},
    "links beyond the last": {GPU + "nvlink.state": [1] * 18 + [UNSUPPORTED] * 2},
    "links asleep": {GPU + "nvlink.state": [2] * 18, GPU + "nvlink.state_field": [2] * 18},
    "more links than promised": {GPU + f"nvlink.{leaf}": values for leaf, values in {
        "state": [2] * 36, "state_field": [2] * 36, "speed_mbytes_per_second": [26562] * 18 + [UNSUPPORTED] * 18,
        "symbol_ber_packed": [255] * 18 + [UNSUPPORTED] * 18, "effective_ber_packed": [255] * 18 + [UNSUPPORTED] * 18}.items()},
    "one NVLink error while the counters were read": {GPU + "counters.nvlink.replay.1.4": 1, GPU + "counters.seconds": 1.0},
    "a fabric mask of false bits": {GPU + "fabric.health_mask": 0x1AA},
    "a driver without a summary of the fabric's health": {GPU + "fabric.health_summary": {"absent": "ARGUMENT_VERSION_MISMATCH"}},
    "a job's process": {GPU + "processes": [{"pid": 7, "uid": 1000, "name": "python3", "job": "4711", "memory_bytes": 70 << 30}],
                        GPU + "memory.used_bytes": 70 << 30},
    "unsupported requests": {"pci.functions.{gpu}.aer.nonfatal": 3, "pci.functions.{gpu}.aer.nonfatal_unsupported_requests": 3},
    "two GPUs on a board of one serial number": {f"gpu.gpus.{gpu}.identity.{leaf}": value for gpu in (3, 5) for leaf, value in (
        ("serial", "1650000100999"), ("multi_gpu_board", 1))},
    "boards without a serial number": {f"gpu.gpus.{gpu}.identity.serial": UNSUPPORTED if gpu % 2 else "0" for gpu in range(8)},
    "one replay": {GPU + "counters.pcie_replays": [10, 11]},
    "one failed draw": {GPU + "samples.power_watts": [70.0, {"absent": "UNKNOWN"}, 71.0]},
    "an old driver": OLD_DRIVER,
}
UNMEASURED = {
    "no NVLink": ({GPU + "nvlink.state": [UNSUPPORTED], GPU + "nvlink.state_field": []}, "test_nvlinks_are_up"),
    "no ECC": ({GPU + "ecc.mode_current": UNSUPPORTED, GPU + "ecc.volatile_uncorrected": UNSUPPORTED, GPU + "ecc.dram_volatile_uncorrected": UNSUPPORTED}, "test_ecc_is_enabled"),
    "no permission": ({GPU + "ecc.sram_threshold_exceeded": {"absent": "NO_PERMISSION"}}, "test_sram_errors_are_below_the_threshold"),
    "UNKNOWN in a container": ({GPU + "handle_code": "UNKNOWN", "gpu.driver.in_container": True}, "test_no_gpu_is_lost"),
    "links training after boot": ({GPU + "nvlink.state": [0] * 18, "gpu.driver.uptime_seconds": 60.0}, "test_nvlinks_are_up"),
    "a MIG mode after the next reset that NVML failed to tell": ({GPU + "modes.mig_pending": {"absent": "TIMEOUT"}}, "test_mig_mode_is_as_promised"),
    "a power limit that NVML failed to tell": ({GPU + "power.management_limit_watts": {"absent": "TIMEOUT"}}, "test_power_limits_are_as_promised"),
    "a serial number that NVML failed to tell": ({GPU + "identity.serial": {"absent": "TIMEOUT"}}, "test_no_two_gpus_have_the_same_name"),
    "a board of how many GPUs NVML failed to tell": ({GPU + "identity.multi_gpu_board": {"absent": "UNKNOWN"}}, "test_no_two_gpus_have_the_same_name"),
    "a fabric training after boot": ({GPU + "fabric.state": 2, "gpu.driver.uptime_seconds": 60.0}, "test_gpus_are_registered_with_the_fabric"),
    "a margin of an old driver": ({"gpu.driver.version": "550.144.03", "gpu.driver.module_version": "550.144.03",
                                   "gpu.driver.cuda_version": "12.4", GPU + "thermal.margin_celsius": 0}, "test_gpus_keep_their_temperature_margin"),
    "a counter that started anew": ({GPU + "counters.pcie_replays": [10, 2]}, "test_pcie_replays_do_not_grow"),
}
MIG = {GPU + "modes.mig_current": 1, **{f"{GPU}remap.{leaf}": UNSUPPORTED for leaf in (
    "correctable", "uncorrectable", "pending", "failure", "pending_field", "failure_field", "uncorrectable_field", "banks_none")}}


@pytest.mark.parametrize("lookalike", LOOKALIKES)
def test_a_look_alike_raises_nothing(bench, healthy, lookalike):
    answers, _ = applied(healthy, LOOKALIKES[lookalike])
    ended = {name: bench.run(name, answers) for name in bench.names()}
    version = {"test_driver_version_is_allowed"} if lookalike == "an old driver" else set()
    assert version == {name for name, end in ended.items() if end.outcome not in ("passed", "skipped")}


@pytest.mark.parametrize("case", UNMEASURED)
def test_what_cannot_be_known_is_not_measured(bench, healthy, case):
    changes, check = UNMEASURED[case]
    answers, _ = applied(healthy, changes)
    assert "error" == bench.run(check, answers).outcome
    failed = {name for name in bench.names() if bench.run(name, answers).outcome == "failed"}
    assert {"warn"} >= {bench.marks(name)["severity"] for name in failed}


def test_partitioned_gpus_are_left_out_of_row_remapping(bench, healthy):
    answers, _ = applied(healthy, MIG)
    ended = {name: bench.run(name, answers).outcome for name in bench.names()}
    assert ["test_mig_mode_is_as_promised"] == [name for name, outcome in ended.items() if outcome not in ("passed", "skipped")]
    everywhere, _ = applied(healthy, {path.replace(".3.", f".{gpu}."): value for gpu in range(8) for path, value in MIG.items()})
    assert "skipped" == bench.run("test_row_remapping_has_not_failed", everywhere).outcome


def test_a_lost_gpu_costs_no_other_gpu_its_fault(bench, healthy):
    answers, _ = applied(healthy, {GPU + "handle_code": "GPU_IS_LOST", "gpu.gpus.5.remap.pending": 1})
    ended = bench.run("test_no_row_remap_is_pending", answers)
    assert ("failed", ["GPU 5: remap.pending 1"]) == (ended.outcome, [each.text for each in ended.offenders])
    assert "GPU 3 has no handle: GPU_IS_LOST" == bench.run("test_ecc_is_enabled", answers).message


def test_a_gpu_without_a_handle_keeps_its_place_on_the_bus(bench, healthy):
    lost = {"index": 3, "handle_code": "GPU_IS_LOST", "calls": healthy["gpu"]["gpus"][3]["calls"]}
    answers, _ = applied(healthy, {"gpu.gpus.3": lost})
    (offender,) = bench.run("test_no_gpu_is_lost", answers).offenders
    assert healthy["gpu"]["gpus"][3]["identity"]["address"] == offender.part.slot


def test_a_host_without_gpus_skips_every_check(bench, healthy):
    hosts = checking.Bench(bench.modules, bench.shared, bench.node, load_profile("cpu-host", checking.ROOT))
    assert {"skipped"} == {hosts.run(name, healthy).outcome for name in bench.names()}


def read_by(path: tuple[Any, ...], reads: frozenset[str]) -> bool:
    """Whether a check's reads cover a leaf: a read of ``gpu.nvlink.state`` covers every link's state."""
    steps = [step for step in path if isinstance(step, str) and step not in ("gpus", "functions")]
    if path[:2] == ("gpu", "driver"):
        steps = steps[1:]
    dotted = ".".join(steps)
    return any(dotted == read or dotted.startswith(f"{read}.") for read in reads)


def test_no_check_passes_without_a_leaf_it_reads(bench, healthy):
    passing = {name: frozenset(end.reads) for name in bench.names() if (end := bench.run(name, healthy)).outcome == "passed"}
    function = next(number for number, each in enumerate(healthy["pci"]["functions"]) if each["kind"] == "gpu")
    paths = [path for path in checking.leaves(healthy) if path[:2] in (("gpu", "driver"), ("pci", "seconds"), ("pci", "acs"))
             or path[:3] in (("gpu", "gpus", 3), ("pci", "functions", function))]
    passed = []
    for path in paths:
        answers = checking.changed(healthy, ".".join(map(str, path)), ...)
        passed += [(name, path) for name, reads in passing.items() if read_by(path, reads) and bench.run(name, answers).outcome == "passed"]
    assert len(paths) > 300
    assert [] == passed


def test_a_node_that_told_nothing_passes_nothing(bench):
    ended = {name: bench.run(name, {"gpu": {}, "pci": {}, "system": {}}).outcome for name in bench.names()}
    assert {"error", "skipped"} == set(ended.values())
    assert {"test_retired_pages_are_within_limit", "test_no_page_retirement_is_pending"} == {
        name for name, outcome in ended.items() if outcome == "skipped"}


def test_another_version_told_by_an_nvml_that_started_on_a_released_module_is_no_mismatch(bench, healthy):
    drifted = checking.changed(healthy, "gpu.driver.version", "535.161.08")
    assert "passed" == bench.run("test_driver_and_library_versions_agree", drifted).outcome
    assert "failed" == bench.run("test_driver_version_is_allowed", drifted).outcome


@pytest.mark.parametrize(("told", "module", "of_it"), [
    ("570.133.20", "570.133.20", True), ("535.161.08", "570.133.20", True), ("570.133.20", "535.161.08", True),
    ("535.161.08", "535.161.08", False), ("535.161.08", {"absent": "no such file or directory: /sys/module/nvidia/version"}, False),
])
def test_a_program_is_of_the_drivers_version_by_nvml_or_by_the_module(told, module, of_it):
    assert of_it == Driver({"version": told, "module_version": module}, "driver").is_of("570.133.20")
