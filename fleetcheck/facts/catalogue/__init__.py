"""What kernel messages mean, as data: Xid and SXid codes, and patterns for everything else. Runs on the controller."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, field_validator

from fleetcheck.records import ACTIONS, SEVERITIES


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Grade(_Entry):
    """How bad, and what to do."""

    severity: str
    action: str

    @field_validator("severity")
    @classmethod
    def _known_severity(cls, value: str) -> str:
        if value not in SEVERITIES:
            raise ValueError(f"severity {value!r} is none of {', '.join(SEVERITIES)}")
        return value

    @field_validator("action")
    @classmethod
    def _known_action(cls, value: str) -> str:
        if value not in ACTIONS:
            raise ValueError(f"action {value!r} is none of {', '.join(ACTIONS)}")
        return value


class XidEntry(Grade):
    """One Xid code. repeat: from how many separate events on one GPU the severity holds."""

    name: str
    component: str
    repeat: int = 1


class XidCatalogue(_Entry):
    """All codes, and what an unlisted one is."""

    source: str
    date: Any
    unknown: XidEntry
    codes: Mapping[int, XidEntry]

    def entry(self, code: int) -> XidEntry:
        """The entry of a code."""
        return self.codes.get(code, self.unknown)


class SxidCatalogue(_Entry):
    """How the words Fatal and Non-fatal are graded."""

    source: str
    date: Any
    component: str
    fatal: Grade
    nonfatal: Grade
    unstated: Grade
    corrected: Sequence[int]


class Pattern(Grade):
    """One kind of kernel line; see kernel.yaml for the fields."""

    code: str
    component: str
    kind: str
    source: str
    pattern: re.Pattern[str]
    clears: re.Pattern[str] | None = None
    repeat: int = 1
    by_line: bool = False
    grace: float = 0

    @field_validator("pattern", mode="before")
    @classmethod
    def _with_addresses(cls, value: str) -> str:
        return value.replace("<pci>", r"(?P<slot>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")


class KernelCatalogue(_Entry):
    """All patterns, in the order they are tried."""

    date: Any
    events: Sequence[Pattern]


def _read(name: str) -> Any:
    return yaml.safe_load(resources.files(__name__).joinpath(name).read_text(encoding="utf-8"))


@functools.cache
def xids() -> XidCatalogue:
    """The Xid catalogue."""
    return XidCatalogue.model_validate(_read("xid.yaml"))


@functools.cache
def sxids() -> SxidCatalogue:
    """The SXid catalogue."""
    return SxidCatalogue.model_validate(_read("sxid.yaml"))


@functools.cache
def patterns() -> Sequence[Pattern]:
    """The patterns of all other kernel lines."""
    return tuple(KernelCatalogue.model_validate(_read("kernel.yaml")).events)
