"""What a pytest session knows of its fleet run. Runs on the controller."""

from __future__ import annotations

import pytest

from fleetcheck.fleet import Fleet
from fleetcheck.records import Planned

FLEET = pytest.StashKey[Fleet]()
PLANNED = pytest.StashKey[Planned]()


def fleet_of(config: pytest.Config) -> Fleet | None:
    """The fleet run of this session, if it is one."""
    return config.stash.get(FLEET, None)
