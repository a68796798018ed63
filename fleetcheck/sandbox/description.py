"""What a sandbox description may say: overrides of a simulated node, checked word by word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from fleetcheck.cabled import End, end
from fleetcheck.sandbox.loads import LoadFault
from fleetcheck.sandbox.nvml_rules import NvmlRule
from fleetcheck.sandbox.ranks import RankFault
from fleetcheck.sandbox.spaces.link import Link
from fleetcheck.sandbox.values import AbsolutePath, CommandName, Content, Filesystem, Text

CableEnd = Annotated[End, BeforeValidator(lambda text: end(text) if isinstance(text, str) else text)]
ANSWERS = ("value", "return", "hang", "absent", "missing")


class Entry(BaseModel):
    """A part of a description; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NvmlOverride(Entry):
    """What one NVML call answers. gpu: whose handle it is asked for; none means every GPU's, or a call without handle.

    args: C parameter names, omitted means any. Exactly one of value, return, hang, absent, missing.
    """

    call: str = ""
    gpu: int | None = Field(None, ge=0)
    args: Mapping[str, int | str] = Field(default_factory=dict)
    value: Any = None
    returns: int | str | None = Field(None, alias="return")
    hang: bool = False
    absent: bool = False
    missing: bool = False

    @model_validator(mode="before")
    @classmethod
    def _one_answer(cls, given: object) -> object:
        if isinstance(given, Mapping):
            answers = [name for name in ANSWERS if name in given and given[name] is not False]
            if len(answers) != 1:
                raise ValueError(f"expected exactly one of {', '.join(ANSWERS)}, got {' and '.join(answers) or 'none'}")
        return given

    @model_validator(mode="after")
    def _subject(self) -> NvmlOverride:
        if self.missing and (self.gpu is None or self.call):
            raise ValueError("missing: true needs gpu and no call")
        if not self.missing and not self.call:
            raise ValueError("expected call: a function of nvml.h, or '*' for every call")
        if self.absent and self.call == "*":
            raise ValueError("absent: true needs one function; no library at all: files: {/…/libnvidia-ml.so.1: null}")
        return self

    def rule(self) -> NvmlRule:
        """As a rule of the simulated library."""
        return NvmlRule(self.call, self.gpu, dict(self.args), self.value, self.returns, self.hang)


class CommandAnswer(Entry):
    """What a program prints and how it ends; hang: it never ends."""

    stdout: Text = ""
    stderr: Text = ""
    exit: int = Field(0, ge=0, le=255)
    hang: bool = False


class Overrides(Entry):
    """What differs from a healthy base machine. commands: None removes the program."""

    nvml: tuple[NvmlOverride, ...] = ()
    kmsg: tuple[str, ...] = ()
    previous_boot: tuple[str, ...] = ()
    files: Mapping[AbsolutePath, Content] = Field(default_factory=dict)
    statvfs: Mapping[AbsolutePath, Filesystem] = Field(default_factory=dict)
    commands: Mapping[CommandName, CommandAnswer | None] = Field(default_factory=dict)
    loads: tuple[LoadFault, ...] = ()
    ranks: tuple[RankFault, ...] = ()

    def then(self, later: Overrides) -> Overrides:
        """Both, the later one winning where they speak of the same thing."""
        return Overrides.model_construct(
            nvml=self.nvml + later.nvml,
            kmsg=self.kmsg + later.kmsg,
            previous_boot=self.previous_boot + later.previous_boot,
            files=_over(self.files, later.files),
            statvfs=filesystems(self.statvfs, later.statvfs),
            commands=_over(self.commands, later.commands),
            loads=self.loads + later.loads,
            ranks=self.ranks + later.ranks,
        )


class NodeDescription(Overrides):
    """One node of a sandbox: named faults first, then its own overrides. cables: where they really end, None for nowhere."""

    faults: tuple[str, ...] = ()
    unreachable: Literal["", "refused", "silent"] = ""
    link: Link = Link()
    cables: Mapping[str, CableEnd | None] = Field(default_factory=dict)
    busy: Annotated[str, BeforeValidator(lambda job: str(job) if isinstance(job, int) else job)] = ""


class FaultDescription(Overrides):
    """A named fault: overrides with a sentence saying what they stand for."""

    description: str


class SandboxDescription(Entry):
    """The ``sandbox:`` section of an inventory. profile: the hardware of every node; none: each node's own profile.

    kind: ``namespaces`` gives every node its own, with real OpenSSH and a real link; link: what all links are.
    """

    kind: Literal["simulated", "namespaces"] = "simulated"
    profile: str = ""
    link: Link = Link()
    nodes: Mapping[str, NodeDescription | None] = Field(default_factory=dict)


def _over(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Later keys win and count as said later, also in order."""
    return {**{key: value for key, value in earlier.items() if key not in later}, **later}


def filesystems(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """What statvfs tells of every mount, the later word on each laid over the earlier."""
    return {**earlier, **{mount: filesystem(earlier.get(mount), of) for mount, of in later.items()}}


def filesystem(earlier: Mapping[str, Any] | None, later: Mapping[str, Any]) -> Mapping[str, Any]:
    """Names of os.statvfs fill each other in; an errno or a hang stands alone.

    >>> filesystem({"f_bsize": 4096, "f_bavail": 9}, {"f_bavail": 0})
    {'f_bsize': 4096, 'f_bavail': 0}
    """
    alone = {"errno", "hang"}
    if earlier is None or alone & (set(earlier) | set(later)):
        return later
    return {**earlier, **later}
