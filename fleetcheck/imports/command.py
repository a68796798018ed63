"""``fleetcheck import``: a file of another tool in, an inventory that loads out. Runs on the controller."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from fleetcheck import inventory
from fleetcheck.imports import from_ansible, from_slurm, writing
from fleetcheck.imports.draft import Draft
from fleetcheck.profiles import shipped_names
from fleetcheck.yamlfile import InventoryError

TOOLS = ("ansible", "slurm")


def run(tool: str, files: Sequence[Path], output: Path | None, screen: TextIO, errors: TextIO, fleet: str = "", profile: str = "") -> None:
    """Write the inventory to output, or to the screen; say on errors what could not be mapped. Raises InventoryError."""
    if tool not in TOOLS:
        raise InventoryError(f"fleetcheck import {tool!r:.40}: expected one of: {', '.join(TOOLS)}")
    draft = _draft(tool, files, profile)
    draft.fleet = fleet or draft.fleet
    text = writing.text(draft, ", ".join(map(str, files)))
    _proven(text, (output or Path("x")).parent)
    for sentence in draft.unmapped:
        errors.write(f"fleetcheck: not mapped: {sentence}\n")
    if output is None:
        screen.write(text)
    else:
        _write(output, text)
        errors.write(f"fleetcheck: {output}: {len(draft.nodes)} nodes, {len(draft.groups)} groups; look it over, then: "
                     f"fleetcheck doctor --inventory {output}\n")


def _draft(tool: str, files: Sequence[Path], profile: str) -> Draft:
    if tool == "slurm":
        return from_slurm.draft(files, profile)
    if len(files) > 1:
        raise InventoryError("fleetcheck import ansible reads one file; expected one")
    if not profile:
        raise InventoryError(f"{files[0]}: an inventory of Ansible does not say what hardware its hosts are; expected --profile NAME, "
                             f"one of {shipped_names()}, or one of your own beside the new inventory")
    made = from_ansible.draft(files[0])
    made.defaults = {"profile": profile, **made.defaults}
    return made


def _proven(text: str, folder: Path) -> None:
    """The inventory loads as it is, with the profiles beside the place where it will lie. Raises InventoryError."""
    with tempfile.TemporaryDirectory(prefix="fleetcheck-import-") as place:
        path = Path(place) / "imported.yaml"
        path.write_text(text, encoding="utf-8")
        if (folder / "profiles").is_dir():
            (path.parent / "profiles").symlink_to((folder / "profiles").resolve())
        try:
            inventory.load(path)
        except InventoryError as error:
            said = str(error).replace(str(path), "the inventory that would come of it")
            raise InventoryError(f"{said}; correct the source, or write it by hand") from None


def _write(output: Path, text: str) -> None:
    try:
        with output.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise InventoryError(f"{output} exists; expected --output with a name that is free") from None
    except OSError as error:
        raise InventoryError(f"cannot write {output}: {error.strerror}") from None
