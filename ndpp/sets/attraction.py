"""Sets whose items attract each other: every pair is together in far more baskets than by chance.

The most probable set of k items is the k bestsellers. Without a cart, a set must therefore consist of
complements with a lift of at least 1.5, and the best is the one with the most baskets beyond chance:

    worth = together − by_chance,        by_chance = Σ_c N_c Π_i (n_ic / N_c)

The sum is over the size classes c of baskets, as for lifts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np

from ndpp.basket_index import BasketIndex
from ndpp.kernel import Indices, Vector
from ndpp.lifts import COMPLEMENT, SIZE_CLASSES, RelatedItems
from ndpp.sets.constraints import Constraints

_MOST_PAIRS = 50_000  # pairs to start from, at most
_LEAST_TOGETHER = 5  # fewer joint baskets are no evidence
LEAST_LIFT = 1.5  # of every two items of a set


@dataclass(frozen=True, slots=True)
class CountedSet:
    """A set of rows with the training baskets that hold all of it, observed and by chance."""

    rows: tuple[int, ...]
    together: int
    by_chance: float
    worth: float


@dataclass(frozen=True, eq=False)
class Attraction:
    """Finds sets whose items attract each other."""

    relations: RelatedItems
    baskets: BasketIndex
    least_lift: float = LEAST_LIFT
    _partners: dict[int, Indices] = field(default_factory=dict, repr=False)  # of rows that were met

    @cached_property
    def _shares(self) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        """n_ic / N_c, (M, classes)."""
        lifts = self.relations.lifts
        return np.asarray(lifts.class_counts / np.maximum(lifts.class_totals, 1))

    @cached_property
    def _pairs(self) -> tuple[Indices, Indices, Vector]:
        """The complements with the highest worth, best first: two rows, and the worth."""
        first, second = self.relations.all_related(COMPLEMENT)
        together = self.relations.counts(first, second).astype(np.float64)
        expected = self.by_chance(np.column_stack([first, second]))
        worth = _worth(together, expected)
        best = np.argsort(-worth, kind="stable")[:_MOST_PAIRS]
        best = best[(worth[best] > 0) & (together[best] >= _LEAST_TOGETHER)]
        return first[best], second[best], worth[best]

    def by_chance(self, sets: Indices) -> Vector:
        """Expected baskets with all items of each set (n, k) if the items were unrelated."""
        totals = np.where(_may_hold(sets.shape[1]), self.relations.lifts.class_totals, 0)
        product = np.ones((len(sets), len(totals)))
        for column in sets.T:
            product *= self._shares[column]
        expected: Vector = product @ totals
        return expected

    def sets(self, size: int, constraints: Constraints, *, starts: int) -> list[CountedSet]:
        """Sets of two to `size` items, best first, grown from the `starts` best allowed pairs.

        Every pair of a set is a complement with a lift of at least `least_lift`.
        """
        found: dict[frozenset[int], CountedSet] = {}
        for pair in islice(self._starts(constraints), starts):
            for grown in self._grown(pair, size, constraints):
                found.setdefault(frozenset(grown.rows), grown)
        return sorted(found.values(), key=lambda grown: -grown.worth)

    def partners(self, row: int) -> Indices:
        """The complements of a row with a lift of at least `least_lift`, ascending."""
        if row not in self._partners:
            others = self.relations.related(row, COMPLEMENT)
            lifts = self.relations.between(np.full(len(others), row), others).lift
            self._partners[row] = others[lifts >= self.least_lift]
        return self._partners[row]

    def _starts(self, constraints: Constraints) -> Iterator[tuple[int, int]]:
        first, second, worth = self._pairs
        logs = constraints.log_factors[first] + constraints.log_factors[second]
        usable = np.flatnonzero(np.isfinite(logs))
        order = usable[np.argsort(-worth[usable] * np.exp(logs[usable]), kind="stable")]
        for place in order.tolist():
            pair = int(first[place]), int(second[place])
            if constraints.allows(pair) and pair[1] in self.partners(pair[0]):
                yield pair

    def _grown(self, pair: tuple[int, int], size: int, constraints: Constraints) -> Iterator[CountedSet]:
        """The pair, and the set after each further item."""
        rows, (numbers, _) = list(pair), self.baskets.holding(pair)
        common = np.intersect1d(self.partners(pair[0]), self.partners(pair[1]))
        common = common[constraints.allowed[common]]
        while True:
            yield self._counted(rows, len(numbers), constraints)
            if len(rows) == size:
                return
            items, sizes = self.baskets.contents(numbers)
            together = np.bincount(items, minlength=len(self._shares))[common].astype(np.float64)
            extended = np.column_stack([np.tile(rows, (len(common), 1)), common]).astype(np.intp)
            worth = _worth(together, self.by_chance(extended)) * np.exp(constraints.log_factors[common])
            worth[together < _LEAST_TOGETHER] = 0.0
            order = common[np.argsort(-worth, kind="stable")[: np.count_nonzero(worth)]].tolist()
            best = next((row for row in order if constraints.allows([*rows, row])), None)
            if best is None:
                return
            owners = np.repeat(np.arange(len(numbers)), sizes)
            numbers = numbers[owners[items == best]]
            rows.append(best)
            common = np.intersect1d(common, self.partners(best))

    def _counted(self, rows: list[int], together: int, constraints: Constraints) -> CountedSet:
        expected = float(self.by_chance(np.array([rows]))[0])
        worth = float(_worth(np.array([float(together)]), np.array([expected]))[0])
        return CountedSet(
            tuple(rows), together, expected, worth * float(np.exp(constraints.log_factors[rows].sum()))
        )


def disjoint(sets: Iterable[CountedSet], most: int) -> list[CountedSet]:
    """The first sets, best first, of which no two share an item."""
    chosen: list[CountedSet] = []
    taken: set[int] = set()
    for each in sets:
        if len(chosen) == most:
            break
        if taken.isdisjoint(each.rows):
            chosen.append(each)
            taken.update(each.rows)
    return chosen


def _worth(together: Vector, by_chance: Vector) -> Vector:
    """together − by_chance, 0 if chance explains the count."""
    return np.maximum(together - by_chance, 0.0)


def _may_hold(size: int) -> Vector:
    """1 for the size classes with baskets of at least `size` items."""
    ends = np.array([*SIZE_CLASSES[1:], np.inf])
    return (ends > size).astype(np.float64)
