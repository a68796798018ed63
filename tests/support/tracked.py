"""Answers that remember which of their leaves were looked at."""

from __future__ import annotations

from typing import Any


class TrackedDict(dict):  # type: ignore[type-arg]
    """A mapping that notes the path of every value taken out of it."""

    def __init__(self, value: dict[str, Any], path: tuple[Any, ...], seen: set[tuple[Any, ...]]) -> None:
        super().__init__({key: tracked(each, (*path, key), seen) for key, each in value.items()})
        self.path, self.seen = path, seen

    def __getitem__(self, key: Any) -> Any:
        self.seen.add((*self.path, key))
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self.seen.add((*self.path, key))
        return super().get(key, default)

    def items(self) -> Any:
        self.seen.update((*self.path, key) for key in self)
        return super().items()

    def values(self) -> Any:
        self.seen.update((*self.path, key) for key in self)
        return super().values()


class TrackedList(list):  # type: ignore[type-arg]
    """A list that notes that it was gone through."""

    def __init__(self, value: list[Any], path: tuple[Any, ...], seen: set[tuple[Any, ...]]) -> None:
        super().__init__(tracked(each, (*path, number), seen) for number, each in enumerate(value))
        self.path, self.seen = path, seen

    def __iter__(self) -> Any:
        self.seen.update((*self.path, number) for number in range(len(self)))
        return super().__iter__()


def tracked(value: Any, path: tuple[Any, ...], seen: set[tuple[Any, ...]]) -> Any:
    """A copy of a value that notes in ``seen`` what is read of it."""
    if isinstance(value, dict):
        return TrackedDict(value, path, seen)
    return TrackedList(value, path, seen) if isinstance(value, list) else value
