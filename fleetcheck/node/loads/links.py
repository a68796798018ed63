"""Runs on the node: links of a result: rates and damage of copies between two ends, over many turns."""

import statistics
import threading
from typing import Any, Dict, List, Tuple

Key = Tuple[str, Any, Any]


class Links:
    """Links by (kind, from, to), in the order in which they were first heard of."""

    def __init__(self) -> None:
        self._rates = {}  # type: Dict[Key, List[float]]
        self._wrong = {}  # type: Dict[Key, int]
        self._more = {}  # type: Dict[Key, Dict[str, Any]]
        self._lock = threading.Lock()

    def add(self, key: Key, gb_s: float, wrong: int, **more: Any) -> None:
        """One turn: its rate, and how many values arrived damaged."""
        with self._lock:
            self._rates.setdefault(key, []).append(gb_s)
            self._wrong[key] = self._wrong.get(key, 0) + wrong
            self._more[key] = dict(self._more.get(key, {}), **more)

    def count(self, key: Key, wrong: int) -> None:
        """One comparison without a rate."""
        with self._lock:
            more = self._more.setdefault(key, {})
            more["turns"] = more.get("turns", 0) + 1
            self._wrong[key] = self._wrong.get(key, 0) + wrong

    def failed(self, key: Key, error: str) -> None:
        """A copy that broke off."""
        with self._lock:
            self._more[key] = dict(self._more.get(key, {}), error=error)

    def keys(self) -> List[Key]:
        """Links with at least one rate."""
        return list(self._rates)

    def gb_s(self, key: Key) -> float:
        """The median over all turns: one that was disturbed does not count."""
        return statistics.median(self._rates[key])

    def told(self) -> List[Dict[str, Any]]:
        """Entries of the result; a link without a rate has none, and says why."""
        with self._lock:
            return [self._entry(key) for key in dict.fromkeys(list(self._rates) + list(self._more))]

    def _entry(self, key: Key) -> Dict[str, Any]:
        kind, source, target = key
        entry = {"from": source, "to": target, "kind": kind, "mismatch_count": self._wrong.get(key, 0)}
        if key in self._rates:
            entry.update(gb_s=round(self.gb_s(key), 9), turns=len(self._rates[key]))
        return dict(self._more.get(key, {}), **entry)


def worst(entries: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The slowest link: {from, to, kind, gb_s}; {} where none has a rate."""
    rated = [entry for entry in entries if "gb_s" in entry]
    slowest = min(rated, key=lambda entry: entry["gb_s"]) if rated else {}
    return {key: slowest[key] for key in ("from", "to", "kind", "gb_s") if key in slowest}
