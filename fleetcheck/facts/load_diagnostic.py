"""The vendor's diagnostic, ``dcgmi diag -j``, as a load: each GPU with what its sub-tests said. Runs on the controller."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from fleetcheck.absent import Absent, NotMeasured
from fleetcheck.facts import dcgm
from fleetcheck.facts.load_result import raw_of, snapshot, wanted
from fleetcheck.facts.section import Section
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Concern, Part
from fleetcheck.view import Parts

NOT_INSTALLED = "not installed"
"""What the load says on a node without DCGM: then the check does not apply."""
OUTPUTS = ("diagnostic", "output")
"""Where a result keeps what the program printed: as a document, or as text."""


class Diagnosed(Section):
    """What the diagnostic said of one GPU, or of all of them."""

    __slots__ = ("judged",)

    def __init__(self, judged: dcgm.Judged, part: Part | None) -> None:
        super().__init__({}, "dcgm", part)
        self.judged = judged

    def failed(self) -> Concern | bool:
        """Which sub-tests failed; raises NotMeasured where too little was tested to say."""
        if self.judged.outcome == "error":
            raise NotMeasured(f"{self.label}: {self.judged.message}")
        return self.judged.outcome == "failed" and Concern(self.judged.message, self.judged.severity, self.judged.action)


def build(answers: Mapping[str, Any], profile: Profile, node: Node) -> Parts[Diagnosed]:
    """Every GPU as diagnosed; skips on a node without GPUs or without DCGM."""
    if profile.gpu is None:
        pytest.skip(f"profile {profile.name} has no GPUs")
    wanted("dcgm", node)
    raw = raw_of(answers, "dcgm", node)
    if isinstance(raw, Absent):
        raise NotMeasured(raw.reason)
    error = raw.get("error")
    if isinstance(error, str) and NOT_INSTALLED in error:
        pytest.skip(f"DCGM is {NOT_INSTALLED} on the node")
    printed = next((raw[key] for key in OUTPUTS if raw.get(key)), None)
    if printed is None:
        raise NotMeasured(f"{node.name}: dcgm: {error or 'nothing was printed'!s:.200}")
    judged = dcgm.judge(dcgm.parse(printed if isinstance(printed, str) else json.dumps(printed)))
    views = [Diagnosed(each, _part(gpu, snapshot(answers, "before", "gpu"))) for gpu, each in judged.items()]
    return Parts(views, "GPUs diagnosed", None if set(judged) == {None} else int(profile.gpu.count.low or 0))


def _part(gpu: int | None, before: Mapping[str, Any]) -> Part:
    boards = before.get("gpus")
    listed = [each for each in boards if isinstance(each, Mapping)] if isinstance(boards, list) else []
    board = next((each for each in listed if each.get("index") == gpu), {})
    identity = board.get("identity")
    told = identity if isinstance(identity, Mapping) else {}
    return Part("gpu", "GPUs" if gpu is None else f"GPU {gpu}", str(told.get("address") or ""), str(told.get("serial") or ""))
