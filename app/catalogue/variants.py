"""Variants: items with the same parent, such as the sizes of a shirt. An answer holds at most one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Variants:
    """The group of each row by its number; −1 for a row that is no variant."""

    groups: NDArray[np.int32]  # (size,)
    exist: bool

    @classmethod
    def of(cls, size: int, parents: Mapping[int, str], row_of: Callable[[str], int | None]) -> Variants:
        """The groups of `size` rows, of which some have parents.

        A parent that is itself an item belongs to its group.
        """
        groups, roots, numbers = np.full(size, -1, dtype=np.int32), dict[str, str](), dict[str, int]()
        for row, parent in sorted(parents.items()):
            groups[row] = numbers.setdefault(_root(parent, parents, row_of, roots), len(numbers))
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
    parent: str, parents: Mapping[int, str], row_of: Callable[[str], int | None], roots: dict[str, str]
) -> str:
    """The highest of the parent, its own parent, and so on; in a circle the one with the smallest id.

    The results, also for those in between, are kept in `roots`.
    """
    path, above = dict[str, None](), parent
    while above not in roots and above not in path:
        path[above] = None
        row = row_of(above)
        above = (None if row is None else parents.get(row)) or above
    if above in roots:
        root = roots[above]
    else:
        ids = list(path)
        root = min(ids[ids.index(above) :])
    roots.update(dict.fromkeys(path, root))
    return root
