"""Faults of ranks on a simulated node: checked in its description, handed to its ranks by the environment. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fleetcheck.collective.bench import OPS

VARIABLE = "FLEETCHECK_RANK_FAULTS"
"""What ranks on processors read; one on a real accelerator never does."""
WRONG = ("absent", "late", "exit", "hang", "die", "wrong", "slow", "late_barrier")


class RankFault(BaseModel):
    """What is wrong with a rank. rank: by its number on the node, op: in one collective; left out means every one. absent: it never
    reaches for the master; late: seconds it comes late; exit: the status with which it ends at once; hang, die: at which iteration of each
    size, from 1; wrong: the iteration from which its data has a wrong element; slow: seconds lost before each call; late_barrier: seconds
    it comes late to each round.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    rank: int | None = Field(None, ge=0, lt=64)
    op: str | None = None
    absent: bool | None = None
    late: float | None = Field(None, gt=0, le=3600)
    exit: int | None = Field(None, ge=1, le=255)
    hang: int | None = Field(None, ge=1)
    die: int | None = Field(None, ge=1)
    wrong: int | None = Field(None, ge=1)
    slow: float | None = Field(None, gt=0, le=3600)
    late_barrier: float | None = Field(None, gt=0, le=3600)

    @model_validator(mode="after")
    def _one_wrong(self) -> RankFault:
        if not any(getattr(self, name) for name in WRONG):
            raise ValueError(f"expected one of {', '.join(WRONG)}: what is wrong with the rank")
        if self.op is not None and self.op not in OPS:
            raise ValueError(f"no collective {self.op!r:.40}; expected one of {', '.join(OPS)}")
        return self


def environment(faults: Sequence[RankFault]) -> Mapping[str, str]:
    """What a node's commands find in their environment; nothing where no rank is at fault."""
    told = [fault.model_dump(exclude_none=True) for fault in faults]
    return {VARIABLE: json.dumps(told)} if told else {}
