"""Where the parts of a sandbox lie on disk, and the environment a node's commands run in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PLAN = "server.json"
IDENTITY = "identity"
KNOWN_HOSTS = "known_hosts"
SSH_CONFIG = "ssh_config"
"""Files of a sandbox's directory, beside the nodes' folders."""
LIBRARY = "libnvidia-ml.so.1"
PROGRAMS = "usr/bin"
"""Programs of a node, below its root: collectors look for programs there, and nowhere else on a simulated node."""


@dataclass(frozen=True)
class Endpoint:
    """What the server needs to know of one node. unreachable: '', 'refused' or 'silent'; link: of one in namespaces."""

    name: str
    home: str
    environment: Mapping[str, str]
    unreachable: str = ""
    link: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """The folders of one node. root: its /proc, /sys, /etc …; lib: NVML; table: what the preloaded library answers."""

    folder: Path

    @property
    def root(self) -> Path:
        """What the node's files are below."""
        return self.folder / "root"

    @property
    def bin(self) -> Path:
        """Every program of the node; its commands' PATH is this folder alone."""
        return self.root / PROGRAMS

    @property
    def lib(self) -> Path:
        """The simulated NVML and its state."""
        return self.folder / "lib"

    @property
    def home(self) -> Path:
        """Where commands start."""
        return self.folder / "home"

    @property
    def table(self) -> Path:
        """Growing files, failing files and file systems, for the preloaded library."""
        return self.folder / "preload.table"

    @property
    def preload(self) -> Path:
        """The preloaded library, beside what it reads."""
        return self.folder / "preload.so"

    def environment(self) -> dict[str, str]:
        """All that a command on the node finds in its environment."""
        return {
            "PATH": str(self.bin), "HOME": str(self.home), "LANG": "C.UTF-8", "LD_LIBRARY_PATH": str(self.lib),
            "LD_PRELOAD": str(self.preload), "FLEETCHECK_SIM_TABLE": str(self.table), "FLEETCHECK_ROOT": str(self.root),
        }
