"""Mounts: there, answering, writable, with room. A mount that hangs costs its own deadline and no other's."""

import pytest


@pytest.mark.check(component="filesystem", severity="degraded", action="fix-config")
def test_mounts_are_mounted(filesystems):
    """Every mount of the profile is mounted. Mount it; if it fails, look at its server or drive."""
    assert not filesystems.offending(lambda mount: not mount.mounted)


@pytest.mark.check(component="filesystem", severity="degraded", action="fix-config")
def test_fstab_is_mounted(filesystems):
    """What fstab mounts at boot is mounted; noauto, nofail and automount entries may be away."""
    assert not filesystems.wanted.offending(lambda wanted: not wanted.mounted)


@pytest.mark.check(component="filesystem", severity="degraded", action="fix-config")
def test_mounts_are_of_the_right_type(filesystems):
    """Every mount is of a type the profile lists: a local directory in place of the shared one fails here."""
    assert not filesystems.offending(lambda mount: mount.wrong_type)


@pytest.mark.check(component="storage", severity="degraded", action="observe")
def test_mounts_answer(filesystems):
    """Every mount of the profile, of fstab or over a network tells its size within seconds. A dead or stale one is a storage matter:
    remount it, isolate nobody."""
    assert not filesystems.answering.offending(lambda mount: mount.silent)


@pytest.mark.check(component="filesystem", severity="fatal", action="reboot")
def test_mounts_are_writable(filesystems):
    """No mount that should be writable, by the profile or fstab, is read-only by its options or the kernel's word. Reboot into a check."""
    assert not filesystems.disks.offending(lambda mount: mount.read_only)


@pytest.mark.check(component="disk", severity="degraded", action="fix-config")
def test_mounts_have_room(filesystems):
    """Every mount has the free share its profile asks for, other drives of fstab the usual one, as df counts. Clean up or extend it."""
    assert not filesystems.disks.offending(lambda mount: mount.room.free_percent not in mount.expected.free_percent)


@pytest.mark.check(component="disk", severity="degraded", action="fix-config")
def test_mounts_have_inodes(filesystems):
    """Every mount has inodes left: many small files fill a disk that looks empty."""
    assert not filesystems.disks.offending(lambda mount: mount.inodes_short)
