"""Who is at fault in a campaign, and how sure that is. Runs on the controller; pure."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = ("node", "link", "rail", "switch", "nobody")


@dataclass(frozen=True, slots=True)
class Finding:
    """One culprit, or nobody.

    kind       node: members is its name. link: members are its two ends, each of which is well with others. switch: a group of label and
               name, such as leaf L3, whose nodes are members. rail: one rail of a node, of a link or of a group; members are empty where
               the rail is slow everywhere. nobody: trials failed and the evidence blames none of the members.
    symptom    crash, timeout, slow or wrong-data
    scope      of a switch: ``all`` traffic of its nodes, or only its ``uplinks``
    confidence share of further independent trials that would fail alike, by Laplace's rule of succession:
               (failed + 1) / (failed + passed + 2)
    trials     ids of the trials that it rests on
    """

    kind: str
    members: tuple[str, ...]
    symptom: str
    rail: str = ""
    label: str = ""
    name: str = ""
    scope: str = ""
    confidence: float = 0.0
    trials: tuple[str, ...] = ()
    message: str = ""

    @property
    def blames(self) -> bool:
        """Whether it names a culprit."""
        return self.kind != "nobody"


def confidence(failed: int, passed: int = 0) -> float:
    """Laplace's rule of succession.

    >>> confidence(2)
    0.75
    """
    return (failed + 1) / (failed + passed + 2)
