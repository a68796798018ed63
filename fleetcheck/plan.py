"""What a run will do: every selected (check, node) with its probes, and what each node is asked. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetcheck import records
from fleetcheck.asked import asked
from fleetcheck.entries import PLACES
from fleetcheck.exchange import Request
from fleetcheck.facts.registry import FACTS, PROBES, Fact
from fleetcheck.groups import BY_NODE
from fleetcheck.inventory import Inventory, Node
from fleetcheck.policy import AS_MARKED, Word, merged

TIERS = ("quick", "full", "burnin", "acceptance")
STAGES = {"node": "facts", "burnin": "load", "interconnect": "pairs", "cluster": "cluster"}
WORDS = ("component", "severity", "action")
NEEDS = ("any", "idle")
GROUPINGS = ("", "fleet", "profile", *PLACES, "pair")
"""What a check of several nodes may be made one of each of."""
BY_NAME: Mapping[str, Fact] = {fact.name: fact for fact in FACTS}
ALWAYS = ("system",)
"""Collectors asked with every facts probe: identity and boot id belong to each answer."""


class CheckError(Exception):
    """A check is written wrongly: its marker lacks a word, or two checks share a name."""


@dataclass(frozen=True)
class CheckMark:
    """The words of ``@pytest.mark.check(component=…, severity=…, action=…, needs=…, tiers=…, per=…)``."""

    component: str
    severity: str
    action: str
    needs: str = "any"
    tiers: tuple[str, ...] = TIERS
    per: str = ""


def mark(nodeid: str, unnamed: Sequence[object], words: Mapping[str, Any]) -> CheckMark:
    """A check's marker, verified. Raises CheckError naming the check and the word."""
    tiers = words.get("tiers", TIERS)
    rules = (
        (not unnamed, "words need their names: component=…, severity=…, action=…"),
        (not (lacking := [word for word in WORDS if word not in words]), f"lacks {', '.join(lacking)}"),
        (not (odd := sorted(set(words) - {*WORDS, "needs", "tiers", "per"})), f"has unknown words: {', '.join(odd)}"),
        (isinstance(words.get("component"), str) and words.get("component"), "component is a name such as 'gpu-memory'"),
        (words.get("severity") in records.SEVERITIES, f"severity is one of {', '.join(records.SEVERITIES)}"),
        (words.get("action") in records.ACTIONS, f"action is one of {', '.join(records.ACTIONS)}"),
        (words.get("needs", "any") in NEEDS, f"needs is one of {', '.join(NEEDS)}"),
        (isinstance(tiers, (tuple, list)) and tiers and all(tier in TIERS for tier in tiers),
         f"tiers is a tuple of some of {', '.join(TIERS)}"),
        (words.get("per", "") in GROUPINGS, f"per is one of {', '.join(filter(None, GROUPINGS))}"),
    )
    broken = next((sentence for kept, sentence in rules if not kept), "")
    if broken:
        raise CheckError(f"{nodeid}: @pytest.mark.check: {broken}")
    return CheckMark(**{**words, "tiers": tuple(tiers)})


def stage(nodeid: str) -> str:
    """The stage a check belongs to, from its folder.

    >>> stage("checks/interconnect/test_pairs.py::test_pair[n1]")
    'pairs'
    """
    folders = nodeid.partition("::")[0].split("/")[:-1]
    return next((STAGES[folder] for folder in reversed(folders) if folder in STAGES), "facts")


def probes(fixtures: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The probes a check needs, each with its collectors, from the fixtures it asks for."""
    wanted: dict[str, list[str]] = {}
    for name in fixtures:
        fact = BY_NAME.get(name.removesuffix(BY_NODE))
        if fact and fact.collector not in wanted.setdefault(fact.probe, []):
            wanted[fact.probe].append(fact.collector)
    return {probe: tuple(collectors) for probe, collectors in wanted.items()}


def requests(run: str, inventory: Inventory, needed: Mapping[str, Mapping[str, set[str]]]) -> list[tuple[Node, Request]]:
    """One request per (node, probe) of facts. needed: {node name: {probe: collectors}}; order is the inventory's."""
    return [
        (node, Request(run=run, stage="facts", probe=probe, collectors=tuple(sorted({*collectors, *ALWAYS})),
                       seconds=PROBES[probe], settings=settings(inventory, node)))
        for node in inventory.nodes if node.name in needed
        for probe in PROBES if (collectors := needed[node.name].get(probe)) is not None
    ]


def settings(inventory: Inventory, node: Node) -> dict[str, Any]:
    """What collectors must know: what to ask, where to write, how to reach the management controller; never any limit."""
    profile = inventory.profiles[node.profile]
    bmc = {key: str(value).replace("{name}", node.name) for key, value in (node.bmc or {}).items() if value is not None}
    return {"mounts": [each.mount for each in profile.filesystems], "scratch": node.scratch, "torch_python": node.torch_python,
            "cables": list(node.cables), "bmc": bmc, **asked(profile)}


def policy(inventory: Inventory, node: Node | None, check: str) -> Word:
    """The site's word on a check: the profile's, over it the inventory's. Asked for every item: most have none."""
    own = inventory.profiles[node.profile].policy.get(check) if node else None
    site = inventory.policy.get(check)
    if own is None and site is None:
        return AS_MARKED
    return merged([each for each in (site, own) if each], node.name if node else "", inventory.today)


def policed(inventory: Inventory) -> dict[str, str]:
    """Every check that the inventory or one of its profiles says something about, with where it does."""
    profiles = {check: f"profile {name}" for name, profile in inventory.profiles.items() for check in profile.policy}
    return {**profiles, **{check: inventory.where("policy", check) for check in inventory.policy}}


def duplicates(checks: Iterable[tuple[str, str]]) -> list[str]:
    """Check names used by two functions, as ``name: first file, second file``. checks: (name, file)."""
    files: dict[str, list[str]] = {}
    for name, file in checks:
        if file not in files.setdefault(name, []):
            files[name].append(file)
    return [f"{name}: {', '.join(owners)}" for name, owners in files.items() if len(owners) > 1]


NARROWING = {
    "keyword": "-k", "markexpr": "-m", "deselect": "--deselect", "ignore": "--ignore", "ignore_glob": "--ignore-glob",
    "lf": "--lf", "stepwise": "--stepwise", "maxfail": "--maxfail", "setuponly": "--setup-only",
}
"""Options of pytest that leave checks out, or may: by their name in its configuration."""


def narrowed(options: Mapping[str, Any], paths: Sequence[str]) -> str:
    """Why a run is partial, in the words of the command line; empty when every check of the tier runs."""
    given = [(flag, options[key]) for key, flag in NARROWING.items() if options.get(key)]
    return ", ".join([*(_flag(flag, value) for flag, value in given), *paths])


def _flag(flag: str, value: object) -> str:
    if flag == "--maxfail" and value == 1:
        return "-x"
    if value is True:
        return flag
    return f"{flag} {' '.join(map(str, value)) if isinstance(value, list) else value}"
