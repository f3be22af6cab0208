"""Which items may appear, and the factor on the odds of each, prepared for many requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ndpp.kernel import Indices, Vector
from ndpp.next_item import NextItem
from ndpp.normalisers import Sample
from ndpp.sparse import find

_DRAWN = 4_096  # rows of a sample
_MOST_LISTED = 4_096  # rows whose factor is not 1, to list all of them


@dataclass(frozen=True, eq=False)
class Pool:
    """The factor on the odds of each item, 0 for those that may not appear; prepared for many requests."""

    factors: Vector  # (size,): known items, then arrivals

    @cached_property
    def unusual(self) -> Indices:
        """The rows whose factor is not 1."""
        return np.flatnonzero(self.factors != 1)

    @property
    def is_plain(self) -> bool:
        """Whether so few factors are not 1 that their rows are listed."""
        return len(self.unusual) <= _MOST_LISTED

    @cached_property
    def highest(self) -> float:
        """The highest factor of a row that need not be listed."""
        return 1.0 if self.is_plain else float(self.factors.max())

    def bytes(self, model: NextItem) -> int:
        """The memory that it takes, with a sample if it needs one of its own."""
        sample = 0 if self.is_plain else _DRAWN * model.kernel.rank * model.kernel.factors.itemsize
        return self.factors.nbytes + self.unusual.nbytes + sample

    def sample(self, model: NextItem) -> Sample:
        """A sample of the rows that may appear."""
        found = self._samples.get(model)
        if found is None:
            found = self._samples[model] = Sample.of(model, self.factors[: model.kernel.size], count=_DRAWN)
        return found

    @cached_property
    def _samples(self) -> dict[NextItem, Sample]:
        return {}


@dataclass(frozen=True, eq=False)
class Selection:
    """A pool, and the factors of some rows that differ from it in one request."""

    pool: Pool
    changed: Mapping[int, float] = field(default_factory=dict)

    @cached_property
    def factors(self) -> Vector:
        """The factor of every row."""
        if not self.changed:
            return self.pool.factors
        found = self.pool.factors.copy()
        found[list(self.changed)] = list(self.changed.values())
        return found

    @cached_property
    def rows(self) -> Indices:
        """The rows that are listed because of their factor."""
        changed = np.fromiter(self.changed, dtype=np.intp, count=len(self.changed))
        return np.concatenate([self.pool.unusual, changed]) if self.pool.is_plain else changed

    def at(self, rows: Indices) -> Vector:
        """The factors of some rows."""
        found = self.pool.factors[rows]
        if self.changed:
            changed = np.array(sorted(self.changed), dtype=np.intp)
            places, known = find(rows, changed)
            values = np.array([self.changed[row] for row in changed.tolist()])
            found[known] = values[places[known]]
        return found
