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
        groups, numbers = np.full(size, -1, dtype=np.int32), dict[str, int]()
        for row, parent in sorted(parents.items()):
            groups[row] = numbers.setdefault(_highest(parent, parents, row_of), len(numbers))
        for parent, number in numbers.items():
            row_of_parent = row_of(parent)
            if row_of_parent is not None and groups[row_of_parent] < 0:
                groups[row_of_parent] = number
        return cls(groups, bool(numbers))

    def others(self, rows: Iterable[int]) -> NDArray[np.bool_]:
        """Which rows are variants of one of these, or one of them."""
        wanted = np.unique(self.groups[list(rows)])
        return np.isin(self.groups, wanted[wanted >= 0])


def _highest(parent: str, parents: Mapping[int, str], row_of: Callable[[str], int | None]) -> str:
    """The parent, or its own parent if it is a variant itself, and so on."""
    seen = {parent}
    while (
        (row := row_of(parent)) is not None and (above := parents.get(row)) is not None and above not in seen
    ):
        seen.add(above)
        parent = above
    return parent
