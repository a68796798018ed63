"""What a description may say of a node's link to the switch, checked word by word. Pure."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

_PORTS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?\Z")
_NAME = re.compile(r"[a-z][a-z0-9]{0,13}\Z")


def _ports(text: str) -> str:
    found = _PORTS.match(text)
    low, high = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= low <= high <= 65535:
        raise ValueError(f"{text!r:.40} is no range of TCP ports; expected one such as 29500-29599")
    return text


def _port_name(text: str) -> str:
    if not _NAME.match(text):
        raise ValueError(f"{text!r:.40} is no switch port; expected a name such as swp3")
    return text


class Link(BaseModel):
    """A node's link. port: of the switch, where its cable ends (left out: swp and the node's number); the two ends of a swapped
    cable name each other's. Rate, both ways; loss and delay, of what the node receives. blocked_ports: TCP ports to which the node
    answers nothing. lldp: a real lldpd at both ends.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    port: Annotated[str, AfterValidator(_port_name)] = ""
    rate_mbits_per_second: Annotated[float, Field(ge=1, le=100_000)] | None = None
    loss_percent: Annotated[float, Field(ge=0, le=100)] | None = None
    delay_milliseconds: Annotated[float, Field(ge=0, le=10_000)] | None = None
    blocked_ports: Annotated[str, AfterValidator(_ports)] | None = None
    down: bool = False
    lldp: bool = False

    def then(self, later: Link) -> Link:
        """Both, the later word winning where both speak."""
        return Link.model_construct(**{**self.model_dump(exclude_unset=True), **later.model_dump(exclude_unset=True)})
