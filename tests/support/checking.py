"""Runs one check as the plugin would: its fixtures from recorded answers, its outcome in the plugin's four words."""

from __future__ import annotations

import copy
import importlib.util
import inspect
import json
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from fleetcheck import outcome as outcomes
from fleetcheck.absent import NotMeasured
from fleetcheck.facts.registry import FACTS
from fleetcheck.inventory import Node
from fleetcheck.profile import Profile
from fleetcheck.recording import Offender, Recording, recorded

ROOT = Path(__file__).resolve().parents[2]
FACT = {fact.name: fact for fact in FACTS}


@dataclass(frozen=True)
class Ended:
    """outcome: passed, failed, error or skipped; reads: the leaves that were read."""

    outcome: str
    message: str = ""
    offenders: tuple[Offender, ...] = ()
    reads: tuple[str, ...] = field(default=(), compare=False)


def module(path: str) -> ModuleType:
    """A module of checks, by its path from the root of the repository."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec and spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@dataclass
class Bench:
    """The checks of one folder against answers: ``bench.run("test_no_gpu_is_lost", answers)``."""

    modules: tuple[ModuleType, ...]
    shared: ModuleType
    node: Node
    profile: Profile

    def names(self) -> list[str]:
        """Every check."""
        return [name for each in self.modules for name in vars(each) if name.startswith("test_")]

    def marks(self, name: str) -> dict[str, Any]:
        """What a check's marker says."""
        check = self._owner(name).__dict__[name]
        return next(mark.kwargs for mark in check.pytestmark if mark.name == "check")

    def run(self, name: str, answers: dict[str, Any]) -> Ended:
        """One check on one node's answers."""
        with recorded(Recording()) as recording:
            outcome, message = self._outcome(name, answers)
        if outcome == "failed":
            message = outcomes.message(outcomes.Said("failed", AssertionError(message)), recording)
        return Ended(outcome, message, tuple(recording.offenders), tuple(read.name for read in recording.reads))

    def _outcome(self, name: str, answers: dict[str, Any]) -> tuple[str, str]:
        owner = self._owner(name)
        wanted = [fixture for mark in marks_of(owner) for fixture in mark.args]
        try:
            made: dict[str, Any] = {"node": self.node, "profile": self.profile, "simulated": False}
            for fixture in wanted:
                self._make(fixture, owner, answers, made)
            check = getattr(owner, name)
            check(**{each: self._make(each, owner, answers, made) for each in inspect.signature(check).parameters})
        except AssertionError as failed:
            return "failed", str(failed).partition("\n")[0]
        except pytest.skip.Exception as skipped:
            return "skipped", str(skipped)
        except NotMeasured as unmeasured:
            return "error", str(unmeasured)
        return "passed", ""

    def _owner(self, name: str) -> ModuleType:
        return next(each for each in self.modules if hasattr(each, name))

    def _make(self, name: str, owner: ModuleType, answers: dict[str, Any], made: dict[str, Any]) -> Any:
        if name not in made and name in FACT:
            told = answers if FACT[name].whole else answers[FACT[name].collector]
            made[name] = FACT[name].build(told, self.profile, self.node)
        elif name not in made:
            definition = getattr(owner, name, None) or getattr(self.shared, name)
            function = definition._get_wrapped_function()
            made[name] = function(**{each: self._make(each, owner, answers, made) for each in inspect.signature(function).parameters})
        return made[name]


def marks_of(owner: ModuleType) -> list[pytest.Mark]:
    """The marks on a whole module."""
    found = getattr(owner, "pytestmark", [])
    return [each.mark for each in (found if isinstance(found, list) else [found])]


def recorded_answers(name: str) -> dict[str, Any]:
    """Answers kept in tests/data, by collector."""
    return json.loads((ROOT / "tests" / "data" / name).read_text())


def changed(answers: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with one leaf changed: ``gpu.gpus.3.ecc.volatile_uncorrected``; value ... removes it."""
    copied = copy.deepcopy(answers)
    holder, last = copied, path.split(".")[-1]
    for step in path.split(".")[:-1]:
        holder = holder[int(step) if isinstance(holder, list) else step]
    key: Any = int(last) if isinstance(holder, list) else last
    if value is ...:
        del holder[key]
    else:
        holder[key] = value
    return copied


def leaves(answer: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every leaf; ``{"absent": …}`` is one."""
    if isinstance(answer, dict) and set(answer) != {"absent"} and answer:
        return [path for key, value in answer.items() for path in leaves(value, (*at, key))]
    if isinstance(answer, list) and answer:
        return [path for number, value in enumerate(answer) for path in leaves(value, (*at, number))]
    return [at]
