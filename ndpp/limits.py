"""Limits on groups of items, in a ranked list or in a set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Limit:
    """At most `most` items of each group; rows of group −1 are in none."""

    groups: NDArray[np.int32]  # (size,)
    most: int
    for_pins: bool = False  # whether pinned items, too, are left out where they are too many

    @classmethod
    def on(cls, marked: Flags, most: int) -> Limit:
        """At most `most` of the marked items."""
        return cls(np.where(marked, 0, -1).astype(np.int32), most)

    @property
    def marked(self) -> Flags:
        """The rows that are in a group."""
        return self.groups >= 0

    def allows(self, rows: Sequence[int]) -> bool:
        """Whether a list may hold all these rows."""
        numbers = self.groups[list(rows)]
        return bool(np.bincount(numbers[numbers >= 0], minlength=1).max() <= self.most)

    def up_to(self, size: int) -> Limit:
        """The limit on the first rows."""
        return replace(self, groups=self.groups[:size])

    def binding(self, rows: NDArray[np.intp]) -> list[Flags]:
        """For each group with more than `most` of these rows, which of them are in it."""
        numbers = self.groups[rows]
        found, counts = np.unique(numbers[numbers >= 0], return_counts=True)
        return [numbers == number for number in found[counts > self.most].tolist()]

    def first(self, rows: NDArray[np.intp]) -> Flags:
        """Which of these rows are among the first `most` of their group; false for those in no group."""
        seen, kept = Counter[int](), np.zeros(len(rows), dtype=np.bool_)
        for place, number in enumerate(self.groups[rows].tolist()):
            kept[place] = number >= 0 and seen[number] < self.most
            seen[number] += 1
        return kept

    def besides(self, rows: Sequence[int]) -> list[Limit]:
        """What is left of the limit beside these rows."""
        counts = Counter(number for number in self.groups[list(rows)].tolist() if number >= 0)
        others = np.where(np.isin(self.groups, list(counts)), -1, self.groups) if counts else self.groups
        touched = [Limit.on(self.groups == number, self.most - count) for number, count in counts.items()]
        return [replace(self, groups=others.astype(np.int32)), *touched]
