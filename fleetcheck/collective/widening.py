"""From pairs to the whole: groups that double in size, grids of rows and columns. Runs on the controller; pure.

Only nodes that pairs have cleared are widened. A group that fails goes to `bisection.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fleetcheck.collective.rounds import Planned, Round


def widen(nodes: Sequence[str], first: int = 4) -> tuple[Round, ...]:
    """Rounds of groups of 4, 8, … and at last all nodes, neighbours together. A remainder too small for a group joins the last one.

    >>> [[len(group.members) for group in turn] for turn in widen("abcdefghij")]
    [[4, 6], [10]]
    """
    found: list[Round] = []
    size = first
    while 2 * size <= len(nodes):
        found.append(tuple(Planned("group", group, f"groups of {size}") for group in chunks(nodes, size)))
        size *= 2
    if len(nodes) > 2:
        found.append((Planned("whole", tuple(nodes), "all nodes"),))
    return tuple(found)


def grid(nodes: Sequence[str]) -> tuple[Round, Round]:
    """Rows and columns of a square: a single culprit is where the failing row and the failing column cross. Needs six nodes or more.

    >>> [["".join(group.members) for group in turn] for turn in grid("abcdefghi")]
    [['abc', 'def', 'ghi'], ['adg', 'beh', 'cfi']]
    """
    if len(nodes) < 6:
        raise ValueError(f"{len(nodes)} nodes make no grid of groups: at least 6")
    width = max(2, math.isqrt(len(nodes)))
    rows = chunks(nodes, width)
    columns = [tuple(row[at] for row in rows if at < len(row)) for at in range(width)]
    loose = [node for row in rows for node in row[width:]]
    columns = [(*column, *loose[at::width]) for at, column in enumerate(columns)]
    return (tuple(Planned("group", row, "rows") for row in rows), tuple(Planned("group", column, "columns") for column in columns))


def chunks(nodes: Sequence[str], size: int) -> list[tuple[str, ...]]:
    """Disjoint groups of size neighbours; what is left over joins the last.

    >>> chunks("abcde", 2)
    [('a', 'b'), ('c', 'd', 'e')]
    """
    count = max(1, len(nodes) // size)
    return [tuple(nodes[at * size:(at + 1) * size if at + 1 < count else len(nodes)]) for at in range(count)]
