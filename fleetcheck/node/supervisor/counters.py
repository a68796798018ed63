"""Runs on the node: totals turned into growth: by GPU for windows, and in words for events. Pure."""

from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple

Leaves = Dict[str, Any]
Key = Tuple[str, str, str]
LINK = " of link "


class Growth(NamedTuple):
    """A counter that grew: kind of event, GPU ("" for none), name, by how much, from what to what, when first."""

    kind: str
    gpu: str
    name: str
    by: int
    before: int
    after: int
    at: float


class Counters:
    """The latest total of every counter, and what grew since the last time it was asked."""

    def __init__(self) -> None:
        self.totals: Dict[Key, int] = {}
        self.grown: Dict[Key, Growth] = {}
        self.seen: Dict[Key, Any] = {}
        self.by_link: Set[str] = set()

    def take(self, sample: Mapping[str, Any], gpu_of: Mapping[str, str]) -> None:
        """Note every total of a sample; gpu_of: GPU by PCI address, of functions and the ports above them.

        NVLink errors over all links of a GPU count only where they are not told link by link.
        """
        found = totals(sample, gpu_of)
        self.by_link.update(key[1] for key, total in found if LINK in key[2] and isinstance(total, int))
        for key, total in found:
            if key[0] != "nvlink" or LINK in key[2] or key[1] not in self.by_link:
                self.note(key, total, sample["at"])

    def note(self, key: Key, total: Any, at: float) -> None:
        """One total. One that fell was reset: it counts from there on."""
        self.seen[key] = total
        if isinstance(total, bool) or not isinstance(total, int):
            return
        before = self.totals.get(key)
        self.totals[key] = total
        if before is None or total <= before:
            return
        old = self.grown.get(key)
        first = old if old else Growth(key[0], key[1], key[2], 0, before, total, at)
        self.grown[key] = first._replace(by=first.by + total - before, after=total)

    def flush(self) -> Tuple[Dict[str, Leaves], List[Growth]]:
        """Growth by GPU as windows carry it, and every counter that grew; both start anew."""
        grown, self.grown = self.grown, {}
        windows: Dict[str, Leaves] = {}
        for key, total in self.seen.items():
            if key[1]:
                count(windows.setdefault(key[1], {}), key, total, grown.get(key))
        return windows, sorted(grown.values(), key=lambda one: one.at)


def count(window: Leaves, key: Key, total: Any, growth: Optional[Growth]) -> None:
    """Add one counter to a GPU's part of a window: ecc by name, NVLink as a sum, PCIe replays."""
    by = growth.by if growth else 0 if isinstance(total, int) else total
    if key[0] == "ecc":
        window.setdefault("ecc", {})[key[2]] = by
    elif key[0] == "nvlink":
        window["nvlink_errors"] = added(window.get("nvlink_errors"), by)
    elif key[0] == "pcie":
        window["pcie_" + key[2]] = by
    else:
        window.setdefault(key[0], {})[key[2]] = by


def added(known: Any, by: Any) -> Any:
    """The sum of two counts, either of which may be missing or absent."""
    if isinstance(known, int):
        return known + by if isinstance(by, int) else known
    return by


def totals(sample: Mapping[str, Any], gpu_of: Mapping[str, str]) -> List[Tuple[Key, Any]]:
    """Every total that a sample holds, with its key."""
    found: List[Tuple[Key, Any]] = []
    for index, gpu in sample["gpus"].items():
        found += [(("ecc", index, name), total) for name, total in gpu.get("ecc", {}).items()]
        found += [(("nvlink", index, name), total) for name, total in gpu.get("nvlink", {}).items()]
    for index, gpu in sample.get("counters", {}).items():
        found += of_gpu(index, gpu)
    for address, errors in sample.get("aer", {}).items():
        found += [(("aer", gpu_of.get(address, ""), "%s of %s" % (name, address)), errors[name])
                  for name in ("correctable", "nonfatal", "fatal")]
    for controller, errors in sample.get("edac", {}).items():
        found += [(("ecc", "", "%s by %s" % (name, controller)), total) for name, total in errors.items()]
    return found


def of_gpu(index: str, gpu: Mapping[str, Any]) -> List[Tuple[Key, Any]]:
    """The counters of one GPU that are read once a window."""
    found: List[Tuple[Key, Any]] = [(("ecc", index, name), total) for name, total in gpu.get("rows", {}).items()]
    if "pcie_replays" in gpu:
        found.append((("pcie", index, "replays"), gpu["pcie_replays"]))
    for name, links in gpu.get("nvlink_links", {}).items():
        found += [(("nvlink", index, name + LINK + str(link)), total) for link, total in enumerate(links)]
    return found


def in_words(growth: Growth) -> str:
    """``GPU 3: ecc uncorrected grew by 2 (0 → 2)``."""
    where = "GPU %s: " % growth.gpu if growth.gpu else ""
    return "%s%s %s grew by %d (%d → %d)" % (where, growth.kind, growth.name, growth.by, growth.before, growth.after)
