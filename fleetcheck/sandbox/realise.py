"""A planned node on disk: root/, programs, NVML and its state; what plain files cannot imitate goes into tables."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fleetcheck.sandbox import native
from fleetcheck.sandbox.layout import LIBRARY, Layout
from fleetcheck.sandbox.native import CommandEntry, FileEntry, StatvfsEntry
from fleetcheck.sandbox.simulated import Simulated
from fleetcheck.sandbox.store import Store
from fleetcheck.sandbox.tree import Tree

SUDO = """#!/bin/sh
# Becomes root without asking, as sudo -n does where it is allowed: the simulated node has one user.
while :; do
    case "$1" in
        -u|-g|-h|-p|-C|-T) shift 2 ;;
        --) shift; break ;;
        -*) shift ;;
        *) break ;;
    esac
done
exec "$@"
"""


def realise(node: Simulated, folder: Path, epoch: float, store: Store) -> Layout:
    """Write a node below its folder; growing values count from ``epoch``, a time.time()."""
    layout = Layout(folder)
    for directory in (layout.bin, layout.lib, layout.home):
        store.folder(str(directory))
    special = write_tree(layout.root, node.tree, store)
    mounts = [mounted(layout.root, mount, of, store) for mount, of in node.statvfs.items()]
    layout.table.write_bytes(native.preload_table([*special, *mounts], epoch))
    native.place(native.preload(), layout.preload)
    write_programs(layout.bin, node, epoch)
    write_nvml(layout.lib, node, epoch)
    return layout


def write_tree(root: Path, tree: Tree, store: Store) -> list[FileEntry]:
    """Every file of a node as a plain file, link or folder; returns those that need more than that."""
    special: dict[str, FileEntry] = {}
    for path, content in tree.files.items():
        place = f"{root}{path}"
        if isinstance(content, str):
            store.file(place, content)
        elif "folder" in content:
            store.folder(place)
        elif "link" in content:
            store.link(place, _inside(root, content["link"]))
        else:
            store.file(place, "")
            special[path] = _special(place, content)
    return [*special.values(), *_linked_to(special, root, tree)]


def _linked_to(special: Mapping[str, FileEntry], root: Path, tree: Tree) -> list[FileEntry]:
    """The same under every link to such a file: the preloaded library knows files by the names they are opened by."""
    names = {path.rpartition("/")[2] for path in special}
    found = []
    for path, content in tree.files.items():
        if isinstance(content, Mapping) and str(content.get("link")).rpartition("/")[2] in names:
            target = special.get(tree.resolved(path))
            found += [replace(target, path=f"{root}{path}")] if target else []
    return found


def _inside(root: Path, target: str) -> str:
    """A link's target, absolute ones below the node's root."""
    return f"{root}{target}" if target.startswith("/") else target


def _special(place: str, content: Mapping[str, Any]) -> FileEntry:
    if "errno" in content:
        return FileEntry(place, errno=content["errno"])
    if "hang" in content:
        return FileEntry(place, hang=True)
    return FileEntry(place, content=content)


def mounted(root: Path, mount: str, of: Mapping[str, Any], store: Store) -> StatvfsEntry:
    """What statvfs tells of a mount; its folder is there."""
    place = f"{root}{mount}".rstrip("/")
    store.folder(place)
    if "errno" in of:
        return StatvfsEntry(place, errno=of["errno"])
    return StatvfsEntry(place, hang=True) if "hang" in of else StatvfsEntry(place, values=of)


def write_programs(folder: Path, node: Simulated, epoch: float) -> None:
    """Every simulated command with its table; an interpreter, a shell and a sudo too, unless described."""
    tables = folder / ".commands"
    tables.mkdir()
    command = native.command()
    for program, entries in node.programs.items():
        native.place(command, folder / program)
        answers = [CommandEntry(words, **answer) for words, answer in entries]
        (tables / f"{program}.table").write_bytes(native.command_table(answers, epoch))
    for program, target in {"python3": str(_interpreter()), "sh": "/bin/sh", **node.borrowed}.items():
        if program not in node.programs and program not in node.removed:
            (folder / program).symlink_to(target)
    if "sudo" not in node.programs and "sudo" not in node.removed:
        (folder / "sudo").write_text(SUDO)
        (folder / "sudo").chmod(0o755)


def _interpreter() -> Path:
    """The interpreter under the controller's virtual environment: a node has the standard library and no package."""
    base: str = getattr(sys, "_base_executable", sys.executable)
    return Path(base).resolve()


def write_nvml(folder: Path, node: Simulated, epoch: float) -> None:
    """The library with its state; an empty file where there is none, or the loader would find this machine's own."""
    if not node.has_nvml:
        (folder / LIBRARY).touch()
        return
    native.place(native.nvml(node.absent), folder / LIBRARY)
    (folder / "nvml.state").write_bytes(native.nvml_state(node.rules, [slot.index for slot in node.slots], epoch))
