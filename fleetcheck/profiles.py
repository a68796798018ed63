"""Finding profile files and laying those that extend others over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fleetcheck import yamlfile
from fleetcheck.complaints import complaint, known_keys
from fleetcheck.nodes import Node
from fleetcheck.nodeset import fold, is_name, suggestion
from fleetcheck.profile import Profile
from fleetcheck.yamlfile import Document, InventoryError

_LIMIT = frozenset({"low", "high", "equals", "allowed"})


@dataclass
class Found:
    """The profiles in use, by name, and the text of every file they were made of."""

    profiles: dict[str, Profile] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def shipped_profiles() -> Path:
    """The folder of the profiles that come with fleetcheck, in a checkout and in an installed package."""
    package = Path(__file__).resolve().parent
    installed = package / "inventories" / "profiles"
    return installed if installed.is_dir() else package.parent / "inventories" / "profiles"


def shipped_names() -> str:
    """The names of those profiles, as messages list them."""
    return ", ".join(sorted(path.stem for path in shipped_profiles().glob("*.yaml")))


def places(inventory: Path) -> tuple[Path, ...]:
    """Where profiles are looked up: beside the inventory, then the shipped ones."""
    beside = inventory.parent / "profiles"
    shipped = shipped_profiles()
    return (beside,) if beside.resolve() == shipped else (beside, shipped)


def for_nodes(nodes: Iterable[Node], document: Document) -> Found:
    """Every profile the nodes name; raises InventoryError on one that is missing or wrong."""
    found, folders = Found(), places(document.path)
    for name, users in _users(nodes).items():
        if not name:
            raise document.error(("nodes",), (
                f"{fold(users)} has no profile; expected profile: NAME under defaults, a group or the node, "
                f"one of: {_available(folders)}"))
        chain = list(_chain(name, folders, _asked(name, document)))
        found.profiles[name] = _validated(name, chain)
        found.texts.update({document.path.name: document.text for document in chain})
    return found


def load_profile(name: str, inventory: Path) -> Profile:
    """One profile by name, as an inventory at this path would find it; raises InventoryError."""
    return _validated(name, list(_chain(name, places(inventory), str(inventory))))


def _users(nodes: Iterable[Node]) -> dict[str, list[str]]:
    users: dict[str, list[str]] = {}
    for node in nodes:
        users.setdefault(node.profile, []).append(node.name)
    return users


def _asked(name: str, document: Document) -> str:
    """``FILE:LINE`` where the inventory names this profile."""
    data = document.data
    spots: list[yamlfile.Keys] = [("defaults", "profile"), ("sandbox", "profile")]
    spots += [(part, key, "profile") for part in ("groups", "nodes") for key in data.get(part) or {}]
    return document.where(*next((keys for keys in spots if _at(data, keys) == name), ("nodes",)))


def _at(data: Any, keys: yamlfile.Keys) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _available(folders: Iterable[Path]) -> str:
    names = sorted({path.stem for folder in folders for path in folder.glob("*.yaml")})
    return ", ".join(names) or "none"


def _chain(name: str, folders: tuple[Path, ...], asked: str) -> Iterator[Document]:
    """The documents of a profile: its own, then the one it extends, and so on."""
    names: list[str] = []
    while name:
        if name in names:
            raise InventoryError(f"{asked}: profile {names[0]!r} extends itself: {' → '.join([*names, name])}; "
                                 "expected a chain that ends")
        document = _document(name, folders, asked)
        yield document
        names.append(name)
        name, asked = document.data.get("extends") or "", document.where("extends")


def _document(name: object, folders: tuple[Path, ...], asked: str) -> Document:
    paths = [folder / f"{name}.yaml" for folder in folders] if isinstance(name, str) and is_name(name) else []
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        looked = " and ".join(str(folder) for folder in folders)
        known = _available(folders)
        near = suggestion(str(name), known.split(", "))
        raise InventoryError(yamlfile.one_line(
            f"{asked}: no profile {name!r:.80}; expected one of: {known} (looked in {looked}){near}"))
    return yamlfile.read(path, "profile")


def _validated(name: str, chain: list[Document]) -> Profile:
    given = chain[0].data.get("name", name)
    if given != name:
        raise chain[0].error(("name",), f"profile is named {given!r:.80}; expected {name!r} as its file, or no name")
    try:
        extends = chain[0].data.get("extends") or ""
        return Profile.model_validate({**_laid_over(chain), "name": name, "extends": extends})
    except ValidationError as error:
        raise complaint(error, Profile, chain) from None


def _laid_over(chain: list[Document]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for document in reversed(chain):
        result = _over(result, document.data, document.path.name)
    return result


def _over(below: Mapping[str, Any], above: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Mappings merge key by key, anything else replaces; a limit replaces all of the limit below it."""
    if above.keys() & _LIMIT:
        below = _without_limit(below, above, file)
    both = {key: _over(below[key], above[key], file) for key in below.keys() & above.keys()
            if isinstance(below[key], Mapping) and isinstance(above[key], Mapping)}
    return {**below, **above, **both}


def _without_limit(below: Mapping[str, Any], above: Mapping[str, Any], file: str) -> dict[str, Any]:
    """What a site's limit keeps of the one it changes: unit, date, the other end; its source names both files."""
    either = {"low", "high"} if "equals" in above else {"equals"} if above.keys() & {"low", "high"} else set()
    kept = {key: value for key, value in below.items() if key not in either}
    if "source" in below and "source" not in above:
        kept["source"] = f"{file}, over: {below['source']}"
    return kept


__all__ = ["Found", "for_nodes", "known_keys", "load_profile", "places", "shipped_profiles"]
