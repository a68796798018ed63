"""Faults of the stand-ins that a simulated node loads: checked in its description, handed to its loads by the environment. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fleetcheck.load_entries import LoadName

VARIABLE = "FLEETCHECK_LOAD_FAULTS"
"""What the stand-ins read; a real accelerator never does."""
WRONG = ("slow", "flip", "stuck", "die", "corrupt")


class LoadFault(BaseModel):
    """What is wrong with one stand-in. load, device: left out means every one. slow: how many times longer everything takes; flip: the
    operation, from 1, whose result has a wrong bit; stuck: byte of the tested memory with a bit that stays set; die: seconds after
    which its process is killed; corrupt: what is copied or written arrives damaged."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    load: LoadName | None = None
    device: int | None = Field(None, ge=0, lt=64)
    slow: float | None = Field(None, ge=1, le=1000)
    flip: int | None = Field(None, ge=1)
    stuck: int | None = Field(None, ge=0)
    die: float | None = Field(None, gt=0)
    corrupt: bool | None = None

    @model_validator(mode="after")
    def _one_wrong(self) -> LoadFault:
        if not any(getattr(self, name) is not None for name in WRONG):
            raise ValueError(f"expected one of {', '.join(WRONG)}: what is wrong with the stand-in")
        return self


def environment(faults: Sequence[LoadFault]) -> Mapping[str, str]:
    """What a node's commands find in their environment; nothing where no load is at fault."""
    told = [fault.model_dump(exclude_none=True) for fault in faults]
    return {VARIABLE: json.dumps(told)} if told else {}
