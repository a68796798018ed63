"""A site's word on single checks: another severity or action, and waivers that end on a day. Runs on the controller."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fleetcheck import nodeset
from fleetcheck.bound import Date
from fleetcheck.records import ACTIONS, SEVERITIES
from fleetcheck.yamlfile import Document


def _said(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError(f"{text!r:.60} is no reason; expected a sentence on one line")
    return text


def _joined(value: object) -> object:
    """Nodes may be written as one range or as a list of ranges."""
    several = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return ",".join(value) if several and isinstance(value, list) else value


def one_of(words: Sequence[str]) -> Callable[[str], str]:
    """A validator that knows these words only."""
    def check(word: str) -> str:
        if word not in words:
            near = nodeset.suggestion(word, words)
            raise ValueError(f"{word!r:.60} is unknown; expected one of: {', '.join(words)}{near}")
        return word

    return check


Reason = Annotated[str, AfterValidator(_said)]


class Waiver(BaseModel):
    """A check that is not asked for until a day has passed. A profile's waiver covers every node of that profile."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    until: Date
    reason: Reason

    def covers(self, node: str) -> bool:
        """Whether this is a node it was written for."""
        return True

    def counts(self, today: datetime.date) -> bool:
        """Whether it still holds; its last day is the one it names."""
        return today <= self.until


class NodeWaiver(Waiver):
    """A waiver as an inventory file writes it."""

    nodes: Annotated[str, BeforeValidator(_joined)]


class PlacedWaiver(Waiver):
    """A waiver of an inventory, its nodes looked up; where: ``rack12.yaml:14``."""

    names: frozenset[str]
    where: str

    def covers(self, node: str) -> bool:
        """Whether the node is among those named."""
        return node in self.names


class CheckPolicy(BaseModel):
    """What is said of one check; what is left out stays as the check says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    severity: Annotated[str, AfterValidator(one_of(SEVERITIES))] | None = None
    action: Annotated[str, AfterValidator(one_of(ACTIONS))] | None = None
    reason: str = ""
    waivers: tuple[Waiver, ...] = ()


class SitePolicy(CheckPolicy):
    """What an inventory file says of one check."""

    waivers: tuple[NodeWaiver, ...] = ()


Policy = Mapping[str, CheckPolicy]


class Repeats(BaseModel):
    """How earlier runs weigh. isolate_after, of_runs: a soft finding isolates once it failed in so many of the last complete runs that
    measured it. window_days: so far back a fault counts as the same one coming back. flaky_changes: so many changes between passed
    and failed within the window."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    isolate_after: Annotated[int, Field(ge=1, le=30)] = 2
    of_runs: Annotated[int, Field(ge=1, le=30)] = 3
    window_days: Annotated[int, Field(ge=1, le=60)] = 28
    flaky_changes: Annotated[int, Field(ge=2, le=30)] = 3

    @model_validator(mode="after")
    def _possible(self) -> Repeats:
        if self.isolate_after > self.of_runs:
            raise ValueError(f"isolate_after {self.isolate_after} never comes in {self.of_runs} runs; expected of_runs of at least as many")
        return self


@dataclass(frozen=True)
class Word:
    """What holds for one check on one node, every source merged; None: as the check says."""

    severity: str | None = None
    action: str | None = None
    waiver: Waiver | None = None

    def given(self) -> dict[str, str]:
        """As the plan keeps it: what was changed, and the waiver's day and reason."""
        if self is AS_MARKED:
            return {}
        changed = {key: value for key, value in (("severity", self.severity), ("action", self.action)) if value}
        waived = {"waived_until": self.waiver.until.isoformat(), "reason": self.waiver.reason} if self.waiver else {}
        return {**changed, **waived}


AS_MARKED = Word()


def merged(said: Sequence[CheckPolicy], node: str, today: datetime.date) -> Word:
    """The word of several policies, the first of them strongest; a waiver of any counts until its day is over."""
    waivers = (each for policy in said for each in policy.waivers)
    return Word(
        severity=next((policy.severity for policy in said if policy.severity), None),
        action=next((policy.action for policy in said if policy.action), None),
        waiver=next((each for each in waivers if node and each.covers(node) and each.counts(today)), None),
    )


def placed(
    given: Mapping[str, SitePolicy], document: Document, names: Sequence[str], groups: Mapping[str, Iterable[str]],
) -> Policy:
    """An inventory's policy with the nodes of every waiver looked up; raises InventoryError naming file and line."""
    return MappingProxyType({check: _placed(check, policy, document, names, groups) for check, policy in given.items()})


def _placed(
    check: str, given: SitePolicy, document: Document, names: Sequence[str], groups: Mapping[str, Iterable[str]],
) -> CheckPolicy:
    waivers: list[Waiver] = []
    for number, waiver in enumerate(given.waivers):
        keys = ("policy", check, "waivers", number)
        try:
            chosen = frozenset(nodeset.choose(waiver.nodes, names, groups))
            if not chosen:
                raise ValueError(f"there is no node in it; expected some of {nodeset.fold(names)}")
        except ValueError as error:
            raise document.error((*keys, "nodes"), f"waiver of {check}: {error}") from None
        where = document.where(*keys)
        waivers.append(PlacedWaiver(until=waiver.until, reason=waiver.reason, names=chosen, where=where))
    return CheckPolicy(severity=given.severity, action=given.action, reason=given.reason, waivers=tuple(waivers))


def expired(site: Policy, profiles: Mapping[str, Policy], today: datetime.date) -> list[str]:
    """Every waiver whose day has passed, one sentence each: it no longer counts. profiles: by name, what each says."""
    sources = [("", site), *((f"profile {name}", policy) for name, policy in profiles.items())]
    waivers = [(where, check, waiver)
               for where, policy in sources for check, said in policy.items() for waiver in said.waivers]
    return [f"waiver of {check} for {_extent(waiver, where)} expired after {waiver.until}: {waiver.reason}"
            for where, check, waiver in waivers if not waiver.counts(today)]


def _extent(waiver: Waiver, where: str) -> str:
    """Which nodes, and where it is written."""
    if isinstance(waiver, PlacedWaiver):
        return f"{nodeset.fold(waiver.names)} ({waiver.where})"
    return f"every node ({where})"


def unknown(said: Mapping[str, str], known: Iterable[str]) -> str:
    """What is wrong with the checks a policy names, or nothing. said: check → where; known: every check there is."""
    names = sorted(known)
    wrong = [(check, where) for check, where in said.items() if check not in names]
    if not wrong:
        return ""
    check, where = wrong[0]
    near = nodeset.suggestion(check, names) or "; fleetcheck explain lists them"
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return f"{where}: policy of an unknown check {check!r:.80}; expected the name of a check function{near}{more}"


def unwaivable(site: Policy, said: Mapping[str, str], fleetwide: Iterable[str]) -> str:
    """What is wrong with waivers of checks that belong to no single node, or nothing. said: check → where."""
    check = next((check for check in fleetwide if check in site and site[check].waivers), "")
    return f"{said[check]}: {check} is no check of one node, so it has no waivers; give it another severity" if check else ""
