"""What the trials of a run say together: who is at fault, by kind of nodes. Built from recorded trials alone. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fleetcheck.absent import NotMeasured
from fleetcheck.collective.campaign.course import Course, Standing, standing
from fleetcheck.collective.campaign.launch import stand_in
from fleetcheck.collective.campaign.limits import limits
from fleetcheck.collective.campaign.record import Begun, Kept, Recorded
from fleetcheck.collective.finding import Finding
from fleetcheck.collective.slow import Pace
from fleetcheck.collective.topology import topology
from fleetcheck.collective.trial import Trial
from fleetcheck.facts.trial_alone import Alone
from fleetcheck.facts.trial_groups import Whole
from fleetcheck.facts.trial_links import Link
from fleetcheck.facts.trial_nodes import Tried
from fleetcheck.groups import Group
from fleetcheck.inventory import Inventory, Node
from fleetcheck.profile import Profile


@dataclass(frozen=True)
class Kind:
    """Nodes of one profile that were tried with each other. kept: every trial that was planned for them; simulated_devices: processors
    took the place of accelerators, so that rates tell nothing of those.
    """

    profile: Profile
    nodes: tuple[str, ...]
    course: Course
    kept: tuple[Kept, ...]
    begun: Begun
    simulated_devices: bool

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Those of several nodes that were run."""
        return tuple(each.trial for each in self.kept if each.trial and not each.trial.alone)

    @cached_property
    def alone(self) -> tuple[Kept, ...]:
        """Those of one node by itself, also where they could not be run."""
        return tuple(each for each in self.kept if each.step == "alone")

    @cached_property
    def standing(self) -> Standing:
        """The trials judged by the profile as it is now."""
        return standing(self.course, self.trials)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Who is at fault, and what blames nobody."""
        return self.standing.findings

    @property
    def paces(self) -> Mapping[str, Pace]:
        """How fast each trial was."""
        return self.standing.judged.paces


class Interconnect:
    """All kinds of a fleet."""

    def __init__(self, kinds: Mapping[str, Kind], begun: Begun | None, profiles: Mapping[str, Profile]) -> None:
        self.kinds = kinds
        self.begun = begun
        self.profiles = profiles

    @classmethod
    def of(cls, recorded: Recorded, inventory: Inventory) -> Interconnect:
        """From a run's evidence, judged by the profiles of this inventory."""
        begun = recorded.begun
        kinds = {name: _kind(inventory, name, nodes, recorded, begun) for name, nodes in begun.kinds.items()
                 if name in inventory.profiles} if begun else {}
        return cls(kinds, begun, inventory.profiles)

    def node(self, node: Node) -> Tried:
        """What the trials say of one node. Raises NotMeasured."""
        return Tried(node, self._kind(node))

    def alone(self, node: Node) -> Alone:
        """What one node showed by itself. Raises NotMeasured; skips the check where there is nothing to show."""
        return Alone(node, self._kind(node))

    def pair(self, group: Group) -> Link:
        """What they say of the link between two. Raises NotMeasured, for the sake of those of the two that did not take part."""
        begun = self._begun()
        out = {node.name: begun.left_out[node.name].message for node in group.nodes if node.name in begun.left_out}
        if out:
            raise NotMeasured("; ".join(out.values()), out)
        one, two = group.nodes
        return Link(one, two, self._kind(one))

    def whole(self, group: Group) -> Whole:
        """What they say of all nodes of a profile. Raises NotMeasured, for the sake of those that did not take part."""
        begun = self._begun()
        kind = self.kinds.get(group.name)
        if kind is None or len(kind.nodes) < 2:
            out = {node.name: begun.left_out[node.name].message for node in group.nodes if node.name in begun.left_out}
            first = next(iter(out.values()), "nobody says why")
            raise NotMeasured(f"no two nodes of profile {group.name} could be tried with each other: {first}", out)
        return Whole(group, kind)

    def profile(self, group: Group) -> Profile:
        """What is expected of a group of nodes of one profile."""
        return self.profiles[group.name]

    def _begun(self) -> Begun:
        if self.begun is None:
            raise NotMeasured("no trials of several nodes are recorded in this run")
        return self.begun

    def _kind(self, node: Node) -> Kind:
        begun = self._begun()
        if node.name in begun.left_out:
            raise NotMeasured(begun.left_out[node.name].message)
        if node.profile not in self.kinds or node.name not in self.kinds[node.profile].nodes:
            raise NotMeasured(f"{node.name}: it took no part in the trials of this run")
        return self.kinds[node.profile]


def _kind(inventory: Inventory, name: str, nodes: tuple[str, ...], recorded: Recorded, begun: Begun) -> Kind:
    known = {node.name: node for node in inventory.nodes}
    profile, members = inventory.profiles[name], tuple(node for node in nodes if node in known)
    simulated = any(stand_in(known[node], inventory) for node in members)
    course = Course(topology({node: known[node].labels for node in members}), begun.mode, limits(profile, simulated))
    kept = tuple(each for each in recorded.kept if set(each.members) <= set(members))
    return Kind(profile, members, course, kept, begun, simulated)
