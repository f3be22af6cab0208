"""The best bundles of a catalogue, stored with a version.

They may share items: which of them are shown depends on the filters, see `disjoint`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ndpp.sets.attraction import Attraction, CountedSet
from ndpp.sets.constraints import Constraints

SIZES = (2, 3, 4)
STARTS = 5_000  # pairs to grow bundles from
_MOST = 3_000  # bundles of each size


@dataclass(frozen=True, eq=False)
class TopBundles:
    """Bundles of all `SIZES`, best first within a size; bundle b is `rows[offsets[b]:offsets[b + 1]]`."""

    offsets: NDArray[np.int64]  # (n + 1,)
    rows: NDArray[np.int32]  # (total,)
    together: NDArray[np.int64]  # (n,): training baskets that hold the whole bundle
    by_chance: NDArray[np.float64]  # (n,): expected baskets if the items were unrelated
    worth: NDArray[np.float64]  # (n,)

    @classmethod
    def find(cls, attraction: Attraction) -> Self:
        """Search the whole catalogue once."""
        everything = Constraints(np.ones(attraction.relations.kernel.size))
        grown = attraction.sets(max(SIZES), everything, starts=STARTS)
        return cls.of([s for size in SIZES for s in [g for g in grown if len(g.rows) == size][:_MOST]])

    @classmethod
    def of(cls, sets: Sequence[CountedSet]) -> Self:
        """Store these bundles."""
        return cls(
            offsets=np.cumsum([0, *(len(each.rows) for each in sets)]).astype(np.int64),
            rows=np.array([row for each in sets for row in each.rows], dtype=np.int32),
            together=np.array([each.together for each in sets], dtype=np.int64),
            by_chance=np.array([each.by_chance for each in sets], dtype=np.float64),
            worth=np.array([each.worth for each in sets], dtype=np.float64),
        )

    def of_size(self, size: int) -> list[CountedSet]:
        """The bundles of this size, best first."""
        return self._by_size.get(size, [])

    @cached_property
    def _by_size(self) -> dict[int, list[CountedSet]]:
        found: dict[int, list[CountedSet]] = {}
        rows, offsets = self.rows.tolist(), self.offsets.tolist()
        figures = zip(self.together.tolist(), self.by_chance.tolist(), self.worth.tolist(), strict=True)
        for (start, end), each in zip(pairwise(offsets), figures, strict=True):
            found.setdefault(end - start, []).append(CountedSet(tuple(rows[start:end]), *each))
        return found

    def check(self, size: int) -> None:
        """ValueError unless the arrays fit together and name rows of a catalogue of `size` items."""
        count = len(self.offsets) - 1
        if count < 0 or self.offsets[0] != 0 or (np.diff(self.offsets) < 0).any():
            raise ValueError("the offsets of the top bundles are not ascending")
        if self.offsets[-1] != len(self.rows) or {
            len(self.together),
            len(self.by_chance),
            len(self.worth),
        } != {count}:
            raise ValueError("the top bundles and their counts do not fit together")
        if len(self.rows) and not 0 <= self.rows.min() <= self.rows.max() < size:
            raise ValueError("the top bundles hold an item that does not exist")
        if not (np.isfinite(self.by_chance).all() and np.isfinite(self.worth).all()):
            raise ValueError("the top bundles hold a count that is not finite")
