"""Which parts a check applies to: what the profile promises and the driver can tell. Runs on the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fleetcheck.facts.gpu import Gpu
from fleetcheck.facts.section import UNSUPPORTED
from fleetcheck.profile import Section
from fleetcheck.view import Parts


def promised(section: Section, name: str) -> Any:
    """A field of a profile's section; skips the check where the profile sets none."""
    value = getattr(section, name)
    if not value:
        pytest.skip(f"the profile promises no {name.replace('_', ' ')}")
    return value


def reporting(
    gpus: Parts[Gpu], what: str, code_of: Callable[[Gpu], str], since: int | None = None,
    mig: bool = False, optional: bool = False,
) -> Parts[Gpu]:
    """The GPUs that can tell a value; skips the check when none can.

    A GPU cannot when the call is unsupported and its driver is older than branch ``since`` (None: lacks the symbol),
    or, with ``mig``, it is partitioned; with ``optional`` also when no GPU of the node supports it: the hardware has no
    such thing. Otherwise an unsupported value is not measured.
    """
    codes = [(gpu, code_of(gpu)) for gpu in gpus.present]
    everywhere = optional and all(code in UNSUPPORTED for _, code in codes)
    able = [gpu for gpu, code in codes if not (code in UNSUPPORTED and (everywhere or _cannot(gpu, code, since, mig)))]
    if codes and not able:
        pytest.skip(f"no GPU reports {what}: {codes[0][1]} with driver branch {codes[0][0].branch}")
    left = None if gpus.expected is None else gpus.expected - len(gpus.present) + len(able)
    return Parts(able, gpus.what, left, gpus.unreadable)


def whole(gpus: Parts[Gpu]) -> Parts[Gpu]:
    """The GPUs that are not partitioned: what their instances hold shows on handles of their own; skips when all are."""
    left = [gpu for gpu in gpus.present if not (gpu.modes.code("mig_current") == "SUCCESS" and gpu.modes.mig == "enabled")]
    if gpus.present and not left:
        pytest.skip("every GPU is partitioned (MIG)")
    return Parts(left, gpus.what, None if gpus.expected is None else gpus.expected - len(gpus.present) + len(left), gpus.unreadable)


def _cannot(gpu: Gpu, code: str, since: int | None, mig: bool) -> bool:
    if mig and gpu.modes.code("mig_current") == "SUCCESS" and gpu.modes.mig == "enabled":
        return True
    if since is None:
        return code == "FUNCTION_NOT_FOUND"
    return gpu.branch is not None and gpu.branch < since
