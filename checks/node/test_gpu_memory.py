"""GPU memory: its size, its ECC errors, and what was taken out of use because of them."""

import pytest

from fleetcheck.facts.applies import promised, reporting
from fleetcheck.facts.gpu_limits import limit

pytestmark = pytest.mark.usefixtures("gpu_profile")


@pytest.fixture
def ecc_modes(gpu_profile):
    """The ECC mode promised; boards without ECC promise none."""
    return promised(gpu_profile, "ecc")


@pytest.fixture
def ecc_gpus(gpus, ecc_modes):
    """GPUs whose ECC is on, or should be."""
    return gpus


@pytest.fixture
def sram_gpus(gpus, ecc_modes):
    """GPUs that tell when SRAM errors cross their threshold: Hopper and later."""
    return reporting(gpus, "an SRAM threshold", lambda gpu: gpu.ecc.code("sram_threshold_exceeded"), optional=True)


@pytest.fixture
def remapping_gpus(gpus, gpu_profile):
    """GPUs that remap rows and tell of it: not while partitioned."""
    promised(gpu_profile, "row_remapping")
    return reporting(gpus, "remapped rows", lambda gpu: gpu.remap.code("pending"), mig=True)


@pytest.fixture
def bank_gpus(gpus, gpu_profile):
    """GPUs that tell how many spare rows each bank has left."""
    promised(gpu_profile, "row_remapping")
    return reporting(gpus, "spare rows by bank", lambda gpu: gpu.remap.code("banks_none"), mig=True)


@pytest.fixture
def retired_pages(gpu_profile):
    """How many retired pages are allowed on parts that retire pages."""
    return promised(gpu_profile, "retired_pages")


@pytest.fixture
def repairing_gpus(gpus):
    """GPUs that tell of pending repairs."""
    return reporting(gpus, "pending repairs", lambda gpu: gpu.remap.code("channel_repair_pending"), optional=True)


@pytest.fixture
def repairable_gpus(gpus):
    """GPUs that tell whether their memory can be repaired."""
    return reporting(gpus, "an unrepairable flag", lambda gpu: gpu.remap.code("unrepairable"), optional=True)


@pytest.fixture
def corrected_rate(profile):
    """Corrected errors a second that are a storm."""
    return limit(profile, "corrected_ecc_errors_per_second")


@pytest.fixture
def sram_errors(profile):
    """Uncorrectable SRAM errors allowed over a board's life."""
    return limit(profile, "sram_uncorrectable_errors")


@pytest.fixture
def remapped_rows(gpu_profile):
    """Uncorrectable rows that may be remapped."""
    return promised(gpu_profile, "remapped_rows_uncorrectable")


@pytest.mark.check(component="gpu-memory", severity="degraded", action="replace")
def test_gpu_memory_is_complete(gpus, gpu_profile):
    """Every GPU shows its whole memory. With less, defective memory was cut off: replace the board."""
    assert not gpus.offending(lambda gpu: gpu.memory.total_bytes not in gpu_profile.memory_bytes)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="fix-config")
def test_ecc_is_enabled(ecc_gpus, ecc_modes):
    """ECC is on, and stays on after the next reset. nvidia-smi -e 1, then reset the GPU."""
    assert not ecc_gpus.offending(lambda gpu: gpu.ecc.mode not in ecc_modes or gpu.ecc.pending_mode not in ecc_modes)


@pytest.mark.check(component="gpu-memory", severity="fatal", action="reset-gpu")
def test_no_uncorrectable_ecc_errors_since_boot(ecc_gpus):
    """No GPU has seen an uncorrectable ECC error since the driver was loaded. Reset it, then look for row remaps."""
    assert not ecc_gpus.offending(lambda gpu: gpu.ecc.volatile_uncorrected)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="isolate")
def test_corrected_ecc_errors_do_not_storm(ecc_gpus, corrected_rate):
    """Corrected errors hardly grow; a total that stands still is history. A storm foretells uncorrectable ones."""
    assert not ecc_gpus.offending(lambda gpu: gpu.growth.corrected_per_second not in corrected_rate)


@pytest.mark.check(component="gpu-memory", severity="fatal", action="replace")
def test_sram_errors_are_below_the_threshold(sram_gpus):
    """No GPU's SRAM has crossed NVIDIA's error threshold (readable by root only). Replace the board."""
    assert not sram_gpus.offending(lambda gpu: gpu.ecc.sram_threshold_exceeded)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="isolate")
def test_sram_has_no_uncorrectable_errors(ecc_gpus, sram_errors):
    """SRAM saw no uncorrectable error in the board's life. More than four mean a return; a cleared board, a waiver."""
    assert not ecc_gpus.offending(lambda gpu: gpu.ecc.sram_aggregate_uncorrected not in sram_errors)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="reset-gpu")
def test_no_row_remap_is_pending(remapping_gpus):
    """No row waits to be remapped. The running job is safe; reset the GPU when it is idle."""
    assert not remapping_gpus.offending(lambda gpu: gpu.remap.pending)


@pytest.mark.check(component="gpu-memory", severity="fatal", action="replace")
def test_row_remapping_has_not_failed(remapping_gpus):
    """Every bad row found a spare. A remap that failed leaves bad memory in use: replace the board."""
    assert not remapping_gpus.offending(lambda gpu: gpu.remap.failure)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="replace")
def test_remapped_rows_are_within_limit(remapping_gpus, remapped_rows):
    """Few rows were remapped for uncorrectable errors. Above the limit the board is due for replacement."""
    assert not remapping_gpus.offending(lambda gpu: gpu.remap.uncorrectable not in remapped_rows)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="replace")
def test_no_memory_bank_is_out_of_spare_rows(bank_gpus):
    """Every memory bank has spare rows left; banks with few are ordinary. Replace the board before the next error."""
    assert not bank_gpus.offending(lambda gpu: gpu.remap.banks_none)


@pytest.mark.check(component="gpu-memory", severity="fatal", action="replace")
def test_retired_pages_are_within_limit(gpus, retired_pages):
    """Few pages were retired, on parts before Ampere. Above the limit the board is due for replacement."""
    assert not gpus.offending(lambda gpu: gpu.retired.pages not in retired_pages)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="reset-gpu")
def test_no_page_retirement_is_pending(gpus, retired_pages):
    """No page waits to be retired, on parts before Ampere. Reset the GPU when it is idle."""
    assert not gpus.offending(lambda gpu: gpu.retired.pending)


@pytest.mark.check(component="gpu-memory", severity="degraded", action="reset-gpu")
def test_no_memory_repair_is_pending(repairing_gpus):
    """No memory channel or TPC waits for its repair. Reset the GPU when it is idle."""
    assert not repairing_gpus.offending(lambda gpu: gpu.remap.channel_repair_pending or gpu.remap.tpc_repair_pending)


@pytest.mark.check(component="gpu-memory", severity="fatal", action="replace")
def test_gpu_memory_is_repairable(repairable_gpus):
    """No GPU flags its memory as beyond repair. Replace the board."""
    assert not repairable_gpus.offending(lambda gpu: gpu.remap.unrepairable)
