"""From collected pytest items to a plan: whose they are, what they need, and whether they are all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from fleetcheck import checkbook, plan, policy
from fleetcheck.facts.registry import PAIRS
from fleetcheck.fleet import Fleet
from fleetcheck.groups import Group
from fleetcheck.inventory import Node
from fleetcheck.records import Planned


def owner(item: pytest.Item) -> str:
    """The name of the node an item is about; empty for the fleet's own."""
    callspec = getattr(item, "callspec", None)
    node = callspec.params.get("node") if callspec else None
    return node.name if isinstance(node, Node) else ""


def group(item: pytest.Item) -> Group | None:
    """The nodes an item of several is about."""
    callspec = getattr(item, "callspec", None)
    found = callspec.params.get("group") if callspec else None
    return found if isinstance(found, Group) else None


def ownerless(item: pytest.Item, fleet: Fleet) -> bool:
    """Whether it stands for a check that has no nodes here: a fleet without such a group, or a session that leaves it to another."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    if "group" in params:
        return group(item) is None
    return not owner(item) and bool("node" in params or fleet.settings.shard)


def name(item: pytest.Item) -> str:
    """The name of the check behind an item."""
    return str(getattr(item, "originalname", None) or item.name)


class Marks:
    """The markers of checks, each verified once: thousands of items share one."""

    def __init__(self) -> None:
        self._known: dict[int, plan.CheckMark] = {}

    def of(self, item: pytest.Item) -> plan.CheckMark:
        """An item's marker. Raises CheckError when it has none or a wrong one."""
        marker = item.get_closest_marker("check")
        if marker is None:
            raise plan.CheckError(f"{item.nodeid}: not marked @pytest.mark.check, so a fleet run cannot judge it; "
                                  "name the checks to run: pytest checks/ --inventory FILE")
        if id(marker) not in self._known:
            self._known[id(marker)] = plan.mark(item.nodeid, marker.args, marker.kwargs)
        return self._known[id(marker)]


class Named:
    """Checks asked for by node id: of their files pytest would else make every item of the fleet, and drop all but these."""

    def __init__(self, config: pytest.Config) -> None:
        self._names: dict[Path, set[str]] = {}
        self._whole: list[Path] = []
        for argument in config.args:
            file, *names = argument.partition("[")[0].split("::")
            path = (config.invocation_params.dir / file).resolve()
            if names and path.is_file():
                self._names.setdefault(path, set()).add(names[0])
            else:
                self._whole.append(path)
        if not all(path.exists() for path in self._whole):  # a package's name, or a mistake that pytest tells
            self._names = {}

    def leaves_out(self, path: Path, name: str) -> bool:
        """Whether no argument asks for this function or class of the file."""
        names = self._names.get(path.resolve()) if self._names else None
        return names is not None and name not in names and not any(path.resolve().is_relative_to(whole) for whole in self._whole)


def in_order(items: list[pytest.Item], fleet: Fleet) -> None:
    """Sort items node by node, so that one node's evidence is at hand at a time."""
    order = {node.name: place for place, node in enumerate(fleet.nodes)}
    items.sort(key=lambda item: order.get(owner(item), len(order)))


def other_tiers(items: Sequence[pytest.Item], fleet: Fleet) -> list[pytest.Item]:
    """The items of other tiers than the run's. Raises CheckError."""
    marks = Marks()
    return [item for item in items if fleet.settings.tier not in marks.of(item).tiers]


def planned(items: Sequence[pytest.Item], fleet: Fleet, run_id: str) -> list[Planned]:
    """One line of the plan per item, in order. Raises CheckError on two checks of one name."""
    marks = Marks()
    lines = [_planned(item, marks.of(item), fleet, run_id) for item in items]
    twice = plan.duplicates((each.check, each.nodeid.partition("::")[0]) for each in lines)
    if twice:
        raise plan.CheckError(f"two checks share a name: {'; '.join(twice)}")
    return lines


def _planned(item: pytest.Item, mark: plan.CheckMark, fleet: Fleet, run_id: str) -> Planned:
    check, node, about = name(item), owner(item), group(item)
    word = plan.policy(fleet.inventory, fleet.by_name.get(node), check)
    return Planned(
        run=run_id, stage=plan.stage(item.nodeid), check=check, node=node, nodeid=item.nodeid, component=mark.component,
        severity=word.severity or mark.severity, action=word.action or mark.action,
        probes=tuple(plan.probes(_fixtures(item))), needs=mark.needs, policy=word.given(),
        nodes=tuple(each.name for each in about.nodes) if about else (),
    )


def probes(items: Sequence[pytest.Item], fleet: Fleet) -> dict[str, set[str]]:
    """{probe: collectors} of single nodes that these items of the run's tier read. Raises CheckError."""
    found: dict[str, set[str]] = {}
    other = set(other_tiers(items, fleet))
    for item in items:
        for probe, wanted in (plan.probes(_fixtures(item)) if item not in other else {}).items():
            if probe != PAIRS:
                found.setdefault(probe, set()).update(wanted)
    return found


def collectors(items: Sequence[pytest.Item], lines: Sequence[Planned], nodes: Sequence[Node],
               elsewhere: Mapping[str, set[str]]) -> dict[str, dict[str, set[str]]]:
    """{node: {probe: collectors}} of all items that have nodes and are not waived; elsewhere: what is read of each node besides."""
    needed = {node.name: {probe: set(wanted) for probe, wanted in elsewhere.items()} for node in nodes} if elsewhere else {}
    known: dict[tuple[str, ...], dict[str, tuple[str, ...]]] = {}
    for item, line in zip(items, lines, strict=True):
        fixtures = tuple(_fixtures(item))
        about = group(item)
        names = [node.name for node in about.nodes] if about else [line.node]
        if line.waived or names == [""]:
            continue
        if fixtures not in known:
            known[fixtures] = plan.probes(fixtures)
        for probe, wanted in known[fixtures].items():
            for each in names:
                needed.setdefault(each, {}).setdefault(probe, set()).update(wanted)
    return needed


def _fixtures(item: pytest.Item) -> Sequence[str]:
    return getattr(item, "fixturenames", ())


def misspelt(items: Sequence[pytest.Item], fleet: Fleet) -> str:
    """What is wrong with a policy for a check that does not exist. The check files tell every name, narrowed run or not."""
    said = plan.policed(fleet.inventory)
    if not said:
        return ""
    collected = {name(item) for item in items}
    known = collected if collected.issuperset(said) else collected | checkbook.names(_roots(items))
    fleetwide = {name(item) for item in items if not owner(item)}
    return policy.unknown(said, known) or policy.unwaivable(fleet.inventory.policy, said, fleetwide)


def narrowed(session: pytest.Session, deselected: int) -> str:
    """Why the run is partial, in the words of the command line; empty when every check of the tier runs."""
    config, roots = session.config, _roots(session.items)
    paths = [argument for argument in config.args if not _covers(argument, config, roots)]
    said = plan.narrowed(vars(config.option), paths)
    unreadable = f"{session.testsfailed} check files that could not be read" if session.testsfailed else ""
    other = f"{deselected} items deselected" if deselected and not said else ""
    shard = f"--shard {config.option.shard}" if config.option.shard else ""
    return ", ".join(filter(None, (shard, said, unreadable, other)))


def _roots(items: Sequence[pytest.Item]) -> set[Path]:
    return {_root(path) for path in {item.path for item in items}}


def _root(path: Path) -> Path:
    """The folder that holds all checks: the outermost ``checks`` above a file, or its own folder."""
    return next((parent for parent in reversed(path.parents) if parent.name == "checks"), path.parent)


def _covers(argument: str, config: pytest.Config, roots: set[Path]) -> bool:
    """Whether an argument of the command line names all checks of some root."""
    path = (config.invocation_params.dir / argument).resolve()
    if config.option.pyargs and not path.exists():
        return argument.endswith(".checks")
    return "::" not in argument and path.is_dir() and any(root.resolve().is_relative_to(path) for root in roots)
