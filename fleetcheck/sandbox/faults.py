"""Named faults: the shipped ones, in the same language as any override of a description."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from fleetcheck import yamlfile
from fleetcheck.complaints import complaint
from fleetcheck.sandbox.description import Entry, FaultDescription

FILE = Path(__file__).with_name("faults.yaml")


class Catalogue(Entry):
    """What faults.yaml holds."""

    faults: Mapping[str, FaultDescription]


def shipped(file: Path = FILE) -> Mapping[str, FaultDescription]:
    """Every fault of a catalogue by its name; raises InventoryError with file and line."""
    document = yamlfile.read(file, "catalogue of faults", frozenset({"faults"}))
    try:
        return Catalogue.model_validate(document.data).faults
    except ValidationError as refused:
        raise complaint(refused, Catalogue, [document]) from refused
