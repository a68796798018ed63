"""What an inventory says under ``isolation:``: how old evidence may be, how many nodes may be out at once, where the backends are. Pure."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from fleetcheck import nodeset
from fleetcheck.alerts.terms import Webhook
from fleetcheck.burnin.clock import duration

FLEET, PARTITION = "fleet", "partition"
"""Budgets that need no label: of all nodes, and of what the backend itself calls a partition."""
_BUDGET = re.compile(r"(\d{1,6})(%?)\Z")


def _age(text: str) -> str:
    duration(text)
    return text


def _budget(text: str) -> str:
    found = _BUDGET.match(text)
    if not found or (found[2] and int(found[1]) > 100):
        raise ValueError(f"{text!r:.40} is no budget; expected a number of nodes such as 2, or a part such as 10%")
    return text


def _template(text: str) -> str:
    if "{name}" not in text or not nodeset.is_name(text.replace("{name}", "n1")):
        raise ValueError(f"{text!r:.80} is no name; expected one with {{name}} in it, such as \"{{name}}.example\"")
    return text


def _path(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError(f"{text!r:.80} is no path")
    return text


def _given(value: object) -> object:
    return {} if value is None else value


NodeName = Annotated[str, AfterValidator(_template)]
Path = Annotated[str, AfterValidator(_path)]


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileEntry(_Entry):
    """The list of nodes out of service that a site's own tools read."""

    path: Path = ""


class SlurmEntry(_Entry):
    """node: how Slurm names a node."""

    node: NodeName = "{name}"


class KubernetesEntry(_Entry):
    """context: of the kubeconfig; left out, its current one, or the pod's own account. node: how the cluster names a node."""

    context: str = ""
    kubeconfig: Path = ""
    node: NodeName = "{name}"


class IsolationEntry(_Entry):
    """budgets: how many nodes with one value of a label may be out of service at once; ``fleet`` and ``partition`` need no label."""

    max_age: Annotated[str, AfterValidator(_age)] = "12h"
    budgets: dict[str, Annotated[str, AfterValidator(_budget)]] = {}
    file: Annotated[FileEntry, BeforeValidator(_given)] = FileEntry()
    slurm: Annotated[SlurmEntry, BeforeValidator(_given)] = SlurmEntry()
    kubernetes: Annotated[KubernetesEntry, BeforeValidator(_given)] = KubernetesEntry()
    webhook: Webhook | None = None

    @property
    def age_seconds(self) -> float:
        """How old evidence may be."""
        return duration(self.max_age)


def allowed(budget: str, members: int) -> int:
    """Nodes a budget lets be out of so many.

    >>> allowed("2", 16), allowed("10%", 32)
    (2, 3)
    """
    return members * int(budget[:-1]) // 100 if budget.endswith("%") else int(budget)


def unlabelled(entry: IsolationEntry, labels: Any) -> str:
    """A budget that falls upon no node protects nothing: its name, or empty."""
    return next((kind for kind in entry.budgets if kind not in (FLEET, PARTITION) and kind not in labels), "")
