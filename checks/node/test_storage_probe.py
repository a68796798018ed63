"""A small private file in the declared scratch path: it can be made, is kept, is read back, and all that quickly."""

import pytest

from fleetcheck.facts.defaults import limit


@pytest.mark.check(component="storage", severity="degraded", action="fix-config")
def test_scratch_takes_a_file(scratch):
    """A file can be created, synced, read back and removed in the scratch path. Look at its mount, rights and quota."""
    error = scratch.error
    assert error == "", f"{scratch.scratch}: {error}"


@pytest.mark.check(component="storage", severity="degraded", action="observe")
def test_scratch_does_not_hang(scratch):
    """Every step on the scratch path ends. One that never does is a storage matter: look at the server, isolate nobody."""
    hung = scratch.hung_at
    assert hung == "", f"{scratch.scratch}: no end of {hung}"


@pytest.mark.check(component="storage", severity="degraded", action="isolate")
def test_scratch_is_quick(scratch, profile):
    """Create, fsync, stat, read and unlink together take no longer than the profile allows. Slow on all nodes: the storage."""
    assert scratch.total_seconds in limit(profile, "scratch_seconds")
