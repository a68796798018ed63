"""Which limits of a profile a check names, by its source, and what the shipped profiles say. Runs on the controller.

Best effort: what a check file itself names (``profile.cpu.sockets``, ``gpu_profile.count``, ``limit(profile, "…")``) is
found; what a fact looks up on its own is not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fleetcheck.bound import Bound, Expectation
from fleetcheck.checkbook import Entry
from fleetcheck.facts import defaults, gpu_limits, hardware_limits, load_limits
from fleetcheck.profile import Bundle, Profile
from fleetcheck.profiles import load_profile, shipped_profiles

Path = tuple[str, ...]
WORDS = ("limit", "promised", "allowed", "known")
"""Functions of ``fleetcheck.facts`` that look a limit up by name."""
LIMITS: Mapping[str, Bound] = {**defaults.LIMITS, **gpu_limits.LIMITS, **hardware_limits.LIMITS, **load_limits.LIMITS}
"""What holds where a profile is silent, of every subject."""

EVERY = ("every shipped profile",)


@dataclass(frozen=True)
class Said:
    """What some profiles say of a limit. profiles: their names; text: as messages show it; source: with its date."""

    profiles: tuple[str, ...]
    text: str
    source: str


@dataclass(frozen=True)
class Named:
    """A limit by its place in the profile, such as ``gpu.count``, and what each profile says; none: it is not set."""

    key: str
    said: tuple[Said, ...]


def shipped() -> list[Profile]:
    """The profiles that come with fleetcheck, by name."""
    folder = shipped_profiles()
    return [load_profile(path.stem, folder.parent / "none.yaml") for path in sorted(folder.glob("*.yaml"))]


def named(entry: Entry, profiles: Iterable[Profile]) -> list[Named]:
    """The limits that a check names, in the order it does."""
    every = list(profiles)
    found = [Named(".".join(path), _folded(path, every)) for path in paths(entry)]
    return [each for each in found if each.said or each.key.startswith("limits.")]


def paths(entry: Entry) -> list[Path]:
    """Places in a profile that the check and its fixtures name, in order; some may be sections, not limits."""
    scope = _Scope({**entry.source.inherited, **entry.source.own}, _lookups(entry.source.tree))
    nodes = [node for function in entry.functions for statement in function.body for node in ast.walk(statement)]
    found = [_expected(node) if "filesystems" in entry.fixtures else None for node in nodes]
    found += [scope.path(node) for node in nodes if isinstance(node, ast.expr)]
    return [path for path in dict.fromkeys(found) if path]


def _lookups(tree: ast.Module) -> Mapping[str, str]:
    """Local name → which of WORDS it is."""
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = [name for node in imports if (node.module or "").startswith("fleetcheck.facts") for name in node.names]
    return {name.asname or name.name: name.name for name in names if name.name in WORDS}


def _expected(node: ast.AST) -> Path | None:
    """``mount.expected.free_percent``: a mount carries its own section of the profile."""
    inner = node.value if isinstance(node, ast.Attribute) else None
    is_expected = isinstance(inner, ast.Attribute) and inner.attr == "expected"
    return ("filesystems", node.attr) if is_expected and isinstance(node, ast.Attribute) else None


@dataclass(frozen=True)
class _Scope:
    """How names of one check file lead into the profile."""

    functions: Mapping[str, ast.FunctionDef]
    lookups: Mapping[str, str]

    def path(self, node: ast.AST) -> Path | None:
        """The place in the profile an expression stands for; () is the profile itself."""
        match node:
            case ast.Name(id="profile"):
                return ()
            case ast.Name(id=name) if name in self.functions:
                return self._returned(self.functions[name])
            case ast.Attribute(value=inner, attr=name):
                return self._below(inner, name)
            case ast.Subscript(value=inner, slice=ast.Constant(value=str(name))):
                return self._below(inner, name)
            case ast.Call(func=ast.Name(id=word), args=[inner, ast.Constant(value=str(name)), *_]):
                return self._looked_up(self.lookups.get(word, ""), inner, name)
        return None

    def _looked_up(self, word: str, inner: ast.AST, name: str) -> Path | None:
        section = {"limit": "limits", "allowed": "bundles", "known": "load"}.get(word)
        return (section, name) if section else self._below(inner, name) if word else None

    def _below(self, inner: ast.AST, name: str) -> Path | None:
        above = self.path(inner)
        return None if above is None else (*above, name)

    def _returned(self, function: ast.FunctionDef) -> Path | None:
        last = function.body[-1]
        return self.path(last.value) if isinstance(last, ast.Return) and last.value else None


def _folded(path: Path, profiles: Sequence[Profile]) -> tuple[Said, ...]:
    """What the profiles say, those that say the same together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for profile in profiles:
        for text, source in _values(path, profile):
            groups.setdefault((text, source), []).append(profile.name)
    return tuple(Said(tuple(names) if len(names) < len(profiles) else EVERY, text, source)
                 for (text, source), names in groups.items())


def _values(path: Path, profile: Profile) -> list[tuple[str, str]]:
    """(text, source) of a limit in one profile; several for mounts; none where it is no limit or not set."""
    if path[0] == "bundles":
        return [(_words(bundle, path[-1]), f"bundle {bundle.name}: {bundle.source}, {bundle.date}")
                for bundle in profile.bundles if len(path) == 2 and getattr(bundle, path[-1], None)]
    if path[0] == "filesystems" and len(path) == 2:
        each = [(mount.mount, getattr(mount, path[1], None)) for mount in profile.filesystems]
        return [(f"{mount}: {value}", _source(value)) for mount, value in each if isinstance(value, Expectation)]
    value = _value(path, profile)
    if isinstance(value, Mapping) and path[0] == "load":
        return [(f"{name}: {each}", _source(each)) for name, each in value.items() if isinstance(each, Expectation)]
    if isinstance(value, bool):
        return [("yes" if value else "no", "")]
    return [(str(value), _source(value))] if isinstance(value, Expectation) else []


def _value(path: Path, profile: Profile) -> Any:
    value: Any = profile
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else getattr(value, key, None)
    return LIMITS.get(path[1]) if value is None and path[0] == "limits" and len(path) == 2 else value


def _source(value: Expectation) -> str:
    return f"{value.source}, {value.date}"


def _words(bundle: Bundle, word: str) -> str:
    value = getattr(bundle, word)
    until = f", until {bundle.until}" if bundle.until else ""
    return f"{value if isinstance(value, str) else ' or '.join(value)}{until}"
