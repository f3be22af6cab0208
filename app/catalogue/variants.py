"""Variants: items with the same parent, such as the sizes of a shirt. An answer holds at most one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Variants:
    """The group of each row by its number; −1 for a row that is no variant."""

    groups: NDArray[np.int32]  # (size,)
    exist: bool

    @classmethod
    def of(cls, parents: Sequence[str | None], row_of: Callable[[str], int | None]) -> Variants:
        """The groups of rows with these parents; a parent that is itself an item belongs to its group."""
        groups, roots, numbers = np.full(len(parents), -1, dtype=np.int32), dict[str, str](), dict[str, int]()
        for row, parent in enumerate(parents):
            if parent is not None:
                root = _root(parent, parents, row_of, roots)
                groups[row] = numbers.setdefault(root, len(numbers))
        for root, number in numbers.items():
            row_of_root = row_of(root)
            if row_of_root is not None:
                groups[row_of_root] = number
        return cls(groups, bool(numbers))

    def others(self, rows: Iterable[int]) -> NDArray[np.bool_]:
        """Which rows are variants of one of these, or one of them."""
        wanted = np.unique(self.groups[list(rows)])
        return np.isin(self.groups, wanted[wanted >= 0])


def _root(
    parent: str, parents: Sequence[str | None], row_of: Callable[[str], int | None], roots: dict[str, str]
) -> str:
    """The highest of the parent, its own parent, and so on; in a circle the one with the smallest id.

    The results, also for those in between, are kept in `roots`.
    """
    path, above = dict[str, None](), parent
    while above not in roots and above not in path:
        path[above] = None
        row = row_of(above)
        above = (None if row is None else parents[row]) or above
    if above in roots:
        root = roots[above]
    else:
        ids = list(path)
        root = min(ids[ids.index(above) :])
    roots.update(dict.fromkeys(path, root))
    return root
