"""Named faults: the shipped ones, in the same language as any override of a description."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import RootModel, ValidationError

from fleetcheck.sandbox.description import FaultDescription
from fleetcheck.sandbox.errors import SandboxError
from fleetcheck.sandbox.located import close_to, first_problem, located

FILE = Path(__file__).with_name("faults.yaml")


class Catalogue(RootModel[dict[str, FaultDescription]]):
    """Name → fault, as faults.yaml has them."""


def shipped(file: Path = FILE) -> Mapping[str, FaultDescription]:
    """Every shipped fault by its name; raises SandboxError with file and line."""
    text = file.read_text(encoding="utf-8")
    try:
        return Catalogue.model_validate(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))).root
    except ValidationError as refused:
        raise SandboxError(located(file, text, *first_problem(refused, FaultDescription))) from refused


def named(name: str, faults: Mapping[str, FaultDescription]) -> FaultDescription:
    """The fault of that name; raises ValueError with the closest names."""
    if name not in faults:
        raise ValueError(f"unknown fault {name!r}{close_to(name, faults)}")
    return faults[name]
