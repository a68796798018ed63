"""Drives: all there, on full links, healthy by their own SMART logs; software arrays whole. Unsafe shutdowns are no fault."""

import pytest

from fleetcheck.facts.hardware_limits import limit


@pytest.mark.check(component="disk", severity="degraded", action="reboot")
def test_nvme_drives_are_all_there(drives, profile):
    """As many NVMe drives as the profile says; names may differ, the count may not. Reboot, then reseat the missing one."""
    assert drives.nvme_count in limit(profile, "nvme_count")


@pytest.mark.check(component="disk", severity="degraded", action="reboot")
def test_nvme_drives_are_live(drives):
    """The kernel can use every NVMe controller; one that is dead or resetting serves nobody. Reboot; then replace it."""
    assert not drives.nvme.offending(lambda drive: drive.not_live)


@pytest.mark.check(component="disk", severity="degraded", action="reboot")
def test_nvme_links_are_full_width(drives, profile):
    """Every NVMe drive's PCIe link has its four lanes. Reboot, then reseat the drive."""
    width = limit(profile, "nvme_pcie_width")
    assert not drives.nvme.offending(lambda drive: drive.width not in width)


@pytest.mark.check(component="disk", severity="degraded", action="replace")
def test_nvme_drives_give_no_critical_warning(drives):
    """No NVMe drive warns of spare blocks, reliability or read-only mode. Replace it; the temperature bit passes by."""
    assert not drives.nvme.offending(lambda drive: drive.health.warnings)


@pytest.mark.check(component="disk", severity="degraded", action="replace")
def test_nvme_drives_have_spare_blocks(drives):
    """Every NVMe drive has more spare blocks than its own threshold. Replace it before it turns read-only."""
    assert not drives.nvme.offending(lambda drive: drive.health.spare_short)


@pytest.mark.check(component="disk", severity="warn", action="replace")
def test_nvme_drives_are_not_worn_out(drives, profile):
    """No NVMe drive is near the end of its rated life, which it may outlive. Plan its replacement."""
    used = limit(profile, "nvme_percentage_used")
    assert not drives.nvme.offending(lambda drive: drive.health.percentage_used not in used)


@pytest.mark.check(component="disk", severity="warn", action="replace")
def test_nvme_drives_lost_no_data(drives, profile):
    """No NVMe drive failed to read or write a block, in its whole life. Watch it; replace it when the count grows."""
    errors = limit(profile, "nvme_media_errors")
    assert not drives.nvme.offending(lambda drive: drive.health.media_errors not in errors)


@pytest.mark.check(component="disk", severity="warn", action="observe")
def test_nvme_drives_are_cool(drives, profile):
    """No NVMe drive is hot enough to slow down. Look at fans and blanks of its bay."""
    celsius = limit(profile, "nvme_celsius")
    assert not drives.nvme.offending(lambda drive: drive.health.temperature_celsius not in celsius)


@pytest.mark.check(component="disk", severity="degraded", action="replace")
def test_disks_pass_their_own_assessment(drives):
    """No SATA or SAS drive expects to fail (SMART overall health). Copy what is on it and replace it."""
    assert not drives.assessing_disks.offending(lambda disk: not disk.health.passed)


@pytest.mark.check(component="disk", severity="warn", action="replace")
def test_disks_read_all_their_sectors(drives, profile):
    """No SATA drive has sectors it cannot read (attributes 187, 197, 198). Replace it when the count grows."""
    sectors = limit(profile, "disk_unreadable_sectors")
    assert not drives.sector_counting_disks.offending(lambda disk: disk.health.unreadable_sectors not in sectors)


@pytest.mark.check(component="disk", severity="degraded", action="replace")
def test_arrays_have_all_members(arrays):
    """Every software array is active with all members. Replace the drive that is gone; a rebuild under way is only noted."""
    assert not arrays.offending(lambda array: array.trouble)
