"""What NVML tells of one GPU's memory health: ECC counters, remapped rows, retired pages, repairs (node side)."""

from typing import Any, Dict

import pynvml as n

from fleetcheck.node.collectors.nvml_call import Nvml, absent, is_absent

READS = (
    ("SRAM error status of NVML", "root"),
)

Leaves = Dict[str, Any]

CORRECTED, UNCORRECTED = 0, 1  # nvmlMemoryErrorType_t
VOLATILE, AGGREGATE = 0, 1     # nvmlEccCounterType_t
DRAM, SRAM = 2, 7              # nvmlMemoryLocation_t


def ecc(nvml: Nvml, handle: Any) -> Leaves:
    """ECC mode and error totals; volatile counts since the driver was loaded, aggregate over the board's life."""
    total, counter = n.nvmlDeviceGetTotalEccErrors, n.nvmlDeviceGetMemoryErrorCounter
    leaves = {
        "volatile_corrected": nvml.ask(total, handle, CORRECTED, VOLATILE),
        "volatile_uncorrected": nvml.ask(total, handle, UNCORRECTED, VOLATILE),
        "aggregate_corrected": nvml.ask(total, handle, CORRECTED, AGGREGATE),
        "aggregate_uncorrected": nvml.ask(total, handle, UNCORRECTED, AGGREGATE),
        "dram_volatile_uncorrected": nvml.ask(counter, handle, UNCORRECTED, VOLATILE, DRAM),
        "sram_volatile_uncorrected": nvml.ask(counter, handle, UNCORRECTED, VOLATILE, SRAM),
        "sram_aggregate_corrected": nvml.ask(counter, handle, CORRECTED, AGGREGATE, SRAM),
        "sram_aggregate_uncorrected": nvml.ask(counter, handle, UNCORRECTED, AGGREGATE, SRAM),
    }
    leaves.update(nvml.spread(["mode_current", "mode_pending"], n.nvmlDeviceGetEccMode, handle))
    leaves.update(sram_status(nvml, handle))
    return leaves


def sram_status(nvml: Nvml, handle: Any) -> Leaves:
    """Whether the SRAM error threshold was crossed, and where uncorrectable errors fell (root only)."""
    members = {"sram_threshold_exceeded": "bThresholdExceeded", "sram_l2": "aggregateUncBucketL2",
               "sram_sm": "aggregateUncBucketSm", "sram_pcie": "aggregateUncBucketPcie",
               "sram_mcu": "aggregateUncBucketMcu", "sram_other": "aggregateUncBucketOther"}
    return nvml.filled(members, n.nvmlDeviceGetSramEccErrorStatus, handle, n.c_nvmlEccSramErrorStatus_v1_t())


def remap(nvml: Nvml, handle: Any) -> Leaves:
    """Row remapping, with how many banks have how many spare rows left; not answered while MIG is on."""
    leaves = nvml.spread(["correctable", "uncorrectable", "pending", "failure"], n.nvmlDeviceGetRemappedRows, handle)
    banks = {"banks_full": "max", "banks_high": "high", "banks_partial": "partial", "banks_low": "low",
             "banks_none": "none"}
    leaves.update(nvml.struct(banks, n.nvmlDeviceGetRowRemapperHistogram, handle))
    leaves.update(nvml.spread(["channel_repair_pending", "tpc_repair_pending"], n.nvmlDeviceGetRepairStatus, handle))
    leaves.update(nvml.fields(handle, {
        "uncorrectable_field": n.NVML_FI_DEV_REMAPPED_UNC,
        "pending_field": n.NVML_FI_DEV_REMAPPED_PENDING,
        "failure_field": n.NVML_FI_DEV_REMAPPED_FAILURE,
    }))
    leaves["unrepairable"] = nvml.ask(n.nvmlDeviceGetUnrepairableMemoryFlag_v1, handle)
    return leaves


def retired(nvml: Nvml, handle: Any) -> Leaves:
    """Retired pages by cause; parts since Ampere remap rows instead."""
    return {
        "single_bit_pages": pages(nvml, handle, n.NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS),
        "double_bit_pages": pages(nvml, handle, n.NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR),
        "pending": nvml.ask(n.nvmlDeviceGetRetiredPagesPendingStatus, handle),
    }


def pages(nvml: Nvml, handle: Any, cause: int) -> Any:
    """How many pages were retired for one cause."""
    found = nvml.ask(n.nvmlDeviceGetRetiredPages_v2, handle, cause)
    if found in (absent("FUNCTION_NOT_FOUND"), absent("NOT_SUPPORTED")):
        found = nvml.ask(n.nvmlDeviceGetRetiredPages, handle, cause)
    return found if is_absent(found) else len(found)


def corrected(nvml: Nvml, handle: Any) -> Any:
    """The counter whose growth is a corrected-error storm."""
    return nvml.ask(n.nvmlDeviceGetTotalEccErrors, handle, CORRECTED, VOLATILE)
