"""The kernel log since boot: what the kernel and its drivers said went wrong. Severity and action are the event's own, from the
catalogue; the mark on a check is the gravest it usually finds. A log that wrapped and has no journal behind it is not measured."""

import pytest


@pytest.mark.check(component="gpu", severity="fatal", action="reset-gpu")
def test_kernel_reports_no_gpu_fault(kernel_log):
    """No Xid, and no loss of a GPU without one, that needs a reset or a reboot. Drain the node; act as the event says."""
    assert not kernel_log.faults("gpu")


@pytest.mark.check(component="gpu", severity="warn", action="observe")
def test_kernel_reports_no_gpu_warning(kernel_log):
    """No Xid that points at an application (13, 31, 43, 45 …) or is unknown. Watch whether it follows the GPU or the job."""
    assert not kernel_log.warnings("gpu")


@pytest.mark.check(component="gpu-memory", severity="fatal", action="reset-gpu")
def test_kernel_reports_no_gpu_memory_fault(kernel_log):
    """No uncorrectable or repeated contained memory error of a GPU, no row remap waiting. Reset the GPU when idle."""
    assert not kernel_log.faults("gpu-memory")


@pytest.mark.check(component="gpu-memory", severity="warn", action="observe")
def test_kernel_reports_no_gpu_memory_warning(kernel_log):
    """No memory error of a GPU that it contained by itself. The job that hit it restarts; count them per GPU."""
    assert not kernel_log.warnings("gpu-memory")


@pytest.mark.check(component="driver", severity="fatal", action="reset-gpu")
def test_kernel_reports_no_driver_fault(kernel_log):
    """GPU firmware answers its driver (Xid 119, 120) and peer memory is sound. Reset the GPU, reboot if it stays."""
    assert not kernel_log.faults("driver")


@pytest.mark.check(component="driver", severity="warn", action="observe")
def test_kernel_reports_no_driver_warning(kernel_log):
    """No program with a library of another version than the driver. Find the container or environment that brings it."""
    assert not kernel_log.warnings("driver")


@pytest.mark.check(component="nvlink", severity="fatal", action="reset-gpu")
def test_kernel_reports_no_nvlink_fault(kernel_log):
    """No fatal NVLink error (Xid 74, 136, 144-150). Reset the GPU named; a repeat on one link is cabling or the board."""
    assert not kernel_log.faults("nvlink")


@pytest.mark.check(component="nvlink", severity="warn", action="observe")
def test_kernel_reports_no_nvlink_warning(kernel_log):
    """No NVLink event the hardware recovered from or that follows another GPU's. Watch whether it grows."""
    assert not kernel_log.warnings("nvlink")


@pytest.mark.check(component="fabric", severity="fatal", action="reboot")
def test_kernel_reports_no_nvswitch_fault(kernel_log):
    """No SXid that says Fatal. Reboot the node; if it comes back, replace the switch board."""
    assert not kernel_log.faults("fabric")


@pytest.mark.check(component="fabric", severity="warn", action="observe")
def test_kernel_reports_no_nvswitch_warning(kernel_log):
    """No SXid that the switch recovered from (Non-fatal, single-bit ECC). Watch whether it grows."""
    assert not kernel_log.warnings("fabric")


@pytest.mark.check(component="pcie", severity="fatal", action="isolate")
def test_kernel_reports_no_pcie_fault(kernel_log):
    """No uncorrected PCIe error, lost card or narrowed link. Reboot; if it stays, reseat or replace card and riser."""
    assert not kernel_log.faults("pcie")


@pytest.mark.check(component="pcie", severity="warn", action="observe")
def test_kernel_reports_no_pcie_warning(kernel_log):
    """No corrected PCIe error, none from the probing at boot, no device that reached for foreign memory. A steady rate: reseat the card."""
    assert not kernel_log.warnings("pcie")


@pytest.mark.check(component="thermal", severity="fatal", action="isolate")
def test_kernel_reports_no_critical_temperature(kernel_log):
    """No thermal zone at its critical temperature. Isolate, check fans, ducts and inlet."""
    assert not kernel_log.faults("thermal")


@pytest.mark.check(component="power", severity="degraded", action="reboot")
def test_kernel_reports_no_power_fault(kernel_log):
    """No card short of power (slot or auxiliary). Reboot; if it stays, check the riser's power cable."""
    assert not kernel_log.faults("power")


@pytest.mark.check(component="power", severity="warn", action="observe")
def test_kernel_reports_no_power_warning(kernel_log):
    """No circuit that smooths a GPU's power draw switched itself off or nears its end. See whether the GPU slows down."""
    assert not kernel_log.warnings("power")


@pytest.mark.check(component="cpu", severity="degraded", action="reboot")
def test_kernel_reports_no_cpu_fault(kernel_log):
    """No lockup, stall, hung task, throttling or uncorrected machine check. Reboot; a machine check that repeats, isolate."""
    assert not kernel_log.faults("cpu")


@pytest.mark.check(component="cpu", severity="warn", action="observe")
def test_kernel_reports_no_cpu_warning(kernel_log):
    """No corrected machine check, no throttling that ended, no task that waited for a file server only."""
    assert not kernel_log.warnings("cpu")


@pytest.mark.check(component="dram", severity="fatal", action="replace")
def test_kernel_reports_no_memory_fault(kernel_log):
    """No uncorrected memory error; "recoverable" is uncorrected too. Replace the DIMM named."""
    assert not kernel_log.faults("dram")


@pytest.mark.check(component="dram", severity="warn", action="observe")
def test_kernel_reports_no_memory_warning(kernel_log):
    """No corrected memory error. Count them per DIMM; replace one that keeps counting."""
    assert not kernel_log.warnings("dram")


@pytest.mark.check(component="disk", severity="degraded", action="isolate")
def test_kernel_reports_no_disk_fault(kernel_log):
    """No drive or RAID controller that timed out and was reset, failed, went offline or lost data. Replace the drive named."""
    assert not kernel_log.faults("disk")


@pytest.mark.check(component="disk", severity="warn", action="observe")
def test_kernel_reports_no_disk_warning(kernel_log):
    """No drive command that had to be given twice or was refused, no path to a drive that failed. Watch whether it repeats."""
    assert not kernel_log.warnings("disk")


@pytest.mark.check(component="filesystem", severity="fatal", action="reboot")
def test_kernel_reports_no_filesystem_fault(kernel_log):
    """No file system found corrupt, shut down or remounted read-only. Reboot into a check; replace the drive if it repeats."""
    assert not kernel_log.faults("filesystem")


@pytest.mark.check(component="filesystem", severity="warn", action="observe")
def test_kernel_reports_no_filesystem_warning(kernel_log):
    """No file system mounted with errors of long ago, no damaged container image. Check the file system at the next reboot."""
    assert not kernel_log.warnings("filesystem")


@pytest.mark.check(component="storage", severity="degraded", action="observe")
def test_kernel_reports_no_file_server_lost(kernel_log):
    """Every file server that stopped answering answers again. A storage matter: never isolate all its clients."""
    assert not kernel_log.faults("storage")


@pytest.mark.check(component="storage", severity="warn", action="observe")
def test_kernel_reports_no_file_server_outage(kernel_log):
    """No file server stopped answering for a while. See whether other clients saw the same."""
    assert not kernel_log.warnings("storage")


@pytest.mark.check(component="nic", severity="fatal", action="reboot")
def test_kernel_reports_no_nic_fault(kernel_log):
    """No network card whose queue or firmware hangs (the port still says ACTIVE) or whose link keeps falling. Reboot."""
    assert not kernel_log.faults("nic")


@pytest.mark.check(component="nic", severity="warn", action="observe")
def test_kernel_reports_no_nic_warning(kernel_log):
    """No cable or module alarm, refused register (normal for a function without privilege) or single link loss.

    Three losses of one link since boot are a fault, however close together: each took the traffic down.
    """
    assert not kernel_log.warnings("nic")


@pytest.mark.check(component="training", severity="warn", action="observe")
def test_kernel_reports_no_library_crash(kernel_log):
    """No program crashed inside NCCL. Look at the job and its library version, not at the node."""
    assert not kernel_log.warnings("training")


@pytest.mark.check(component="os", severity="degraded", action="observe")
def test_kernel_reports_no_kernel_fault(kernel_log):
    """No oops, and no process killed because the whole node ran out of memory. Read the lines before it."""
    assert not kernel_log.faults("os")


@pytest.mark.check(component="os", severity="warn", action="observe")
def test_kernel_reports_no_kernel_warning(kernel_log):
    """No job killed at its own limit of memory or processes, no complaint of the kernel. Tell the user; see whether it repeats."""
    assert not kernel_log.warnings("os")


@pytest.mark.check(component="os", severity="degraded", action="isolate")
def test_boot_before_did_not_end_in_a_panic(kernel_log):
    """The boot before ended in order: no panic in its journal, no fresh crash dump. A planned reboot leaves neither."""
    assert not kernel_log.panics()


@pytest.mark.check(component="os", severity="warn", action="observe")
def test_boot_before_saw_no_fatal_event(kernel_log):
    """No fatal hardware event in the boot before: a reboot does not make it unseen. If it is repaired, let this pass."""
    assert not kernel_log.earlier_faults()
