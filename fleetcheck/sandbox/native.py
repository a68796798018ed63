"""The native half of a simulated node: its NVML, a preloaded library, a command. Controller side.

All are compiled on first use. What each is and how it finds its table is told at the head of native/nvml.c, preload.c
and simcmd.c.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fleetcheck.sandbox.errors import unknown
from fleetcheck.sandbox.native_build import SHARED, build, place
from fleetcheck.sandbox.nvml_rules import NvmlRule, nvml_state
from fleetcheck.sandbox.nvml_source import source
from fleetcheck.sandbox.nvml_surface import SOURCES, functions
from fleetcheck.sandbox.tables import CommandEntry, FileEntry, StatvfsEntry, command_table, preload_table

LIBRARY = "libnvidia-ml.so.1"
STATE = "nvml.state"
"""Beside the library."""
TABLE_VARIABLE = "FLEETCHECK_SIM_TABLE"
"""Names the preloaded library's table in the environment of a node's processes."""
COMMANDS = ".commands"
"""The folder beside a node's commands that holds NAME.table for each."""
SYMBOLS = tuple(functions())
"""The calls that the simulated NVML exports."""


def nvml(absent: Iterable[str] = ()) -> Path:
    """The simulated NVML, without the symbols in ``absent``: a driver that is older than they are."""
    missing = sorted(set(absent))
    for name in missing:
        if name not in SYMBOLS:
            raise unknown("NVML call", name, SYMBOLS)
    return build(LIBRARY, source(missing), (*SHARED, f"-Wl,-soname,{LIBRARY}"))


def preload() -> Path:
    """The library that a node's processes preload: files that grow or fail, and statvfs of simulated mounts."""
    return build("preload.so", (SOURCES / "preload.c").read_text(), SHARED, ("-ldl",))


def command() -> Path:
    """The program that every simulated command is a link to."""
    return build("simcmd", (SOURCES / "simcmd.c").read_text())


__all__ = [
    "COMMANDS", "LIBRARY", "STATE", "SYMBOLS", "TABLE_VARIABLE", "CommandEntry", "FileEntry", "NvmlRule",
    "StatvfsEntry", "command", "command_table", "nvml", "nvml_state", "place", "preload", "preload_table",
]
