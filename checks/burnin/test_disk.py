"""Files written to the declared scratch path, read back and compared."""

import pytest

from fleetcheck.facts.load_device import noted
from fleetcheck.facts.load_limits import known


@pytest.fixture
def write_floor(profile, disk_load):
    """MB/s written."""
    noted(disk_load.devices, "disk_write_mb_s")
    return known(profile, "disk_write_mbytes_per_second")


@pytest.fixture
def read_floor(profile, disk_load):
    """MB/s read."""
    noted(disk_load.devices, "disk_read_mb_s")
    return known(profile, "disk_read_mbytes_per_second")


@pytest.mark.check(component="disk", severity="fatal", action="replace", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_disk_returns_what_was_written(disk_load):
    """Every block is read back as it was written. A disk or controller that alters data unnoticed: replace it."""
    assert not disk_load.devices.offending(lambda disk: disk.wrong())


@pytest.mark.check(component="disk", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_disk_writes_fast_enough(disk_load, write_floor):
    """The scratch path takes data as fast as the profile says. Look at wear, temperature and the file system's fill."""
    assert not disk_load.devices.offending(lambda disk: disk.rate("disk_write_mb_s") not in write_floor)


@pytest.mark.check(component="disk", severity="degraded", action="isolate", tiers=("full", "burnin", "acceptance"), needs="idle")
def test_disk_reads_fast_enough(disk_load, read_floor):
    """The scratch path gives data as fast as the profile says. Look at wear, temperature and link width."""
    assert not disk_load.devices.offending(lambda disk: disk.rate("disk_read_mb_s") not in read_floor)
