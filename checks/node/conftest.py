"""Fixtures that several node checks share: sections of the profile that skip what they do not promise."""

import pytest


@pytest.fixture
def gpu_profile(profile):
    """What the profile promises of the GPUs; skips checks of GPUs on a node without any."""
    if profile.gpu is None:
        pytest.skip(f"profile {profile.name} has no GPUs")
    return profile.gpu
