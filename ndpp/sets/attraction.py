"""Sets whose items attract each other: every pair is together in far more baskets than by chance.

The most probable set of k items is the k bestsellers. Without a cart, a set must therefore consist of
complements with a lift of at least 1.5, and the best is the one with the most baskets beyond chance:

    worth = together − by_chance,        by_chance = Σ_c N_c Π_i (n_ic / N_c)

The sum is over the size classes c of baskets, as for lifts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

import numpy as np

from ndpp.basket_index import BasketIndex
from ndpp.kernel import Indices, Vector
from ndpp.lifts import COMPLEMENT, SIZE_CLASSES, RelatedItems
from ndpp.sets.constraints import Constraints

_KEPT = 2_048  # sets, and rows, whose counts are kept: see `STARTS`
STARTS, MORE_STARTS = 24, 120  # pairs from which sets of up to four items, and larger ones, are grown
_WARM_SIZE = 5
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

    @cached_property
    def _pairs(self) -> tuple[Indices, Indices, Vector]:
        """The complements with the highest worth, best first: two rows, and the worth."""
        first, second, counts = self.relations.counted(COMPLEMENT)
        together = counts.astype(np.float64)
        expected = self.by_chance(np.column_stack([first, second]))
        worth = _worth(together, expected)
        best = np.argsort(-worth, kind="stable")[:_MOST_PAIRS]
        best = best[(worth[best] > 0) & (together[best] >= _LEAST_TOGETHER)]
        return first[best], second[best], worth[best]

    def by_chance(self, sets: Indices) -> Vector:
        """Expected baskets with all items of each set (n, k) if the items were unrelated."""
        lifts = self.relations.lifts
        totals = np.where(_may_hold(sets.shape[1]), lifts.class_totals, 0)
        product = np.ones((len(sets), len(totals)))
        for column in sets.T:
            product *= lifts.class_counts[column] / np.maximum(lifts.class_totals, 1)  # n_ic / N_c
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

    def warm_up(self) -> None:
        """Count what a request without filters needs, so that the first one is as fast as the next."""
        everything = Constraints(np.ones(self.relations.kernel.size))
        self.sets(_WARM_SIZE, everything, starts=MORE_STARTS)

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
        rows: tuple[int, ...] = pair
        while True:
            grown = self._known(rows)
            factor = float(np.exp(constraints.log_factors[list(rows)].sum()))
            yield CountedSet(rows, grown.together, grown.by_chance, grown.worth * factor)
            if len(rows) == size:
                return
            worth = grown.further_worth * constraints.allowed[grown.further]
            places = np.flatnonzero(worth)
            worth = worth[places] * np.exp(constraints.log_factors[grown.further[places]])
            order = grown.further[places[np.argsort(-worth, kind="stable")]].tolist()
            best = next((row for row in order if constraints.allows([*rows, row])), None)
            if best is None:
                return
            rows = *rows, best

    @cached_property
    def partners(self) -> Callable[[int], Indices]:
        """The complements of a row with a lift of at least `least_lift`, ascending."""
        return lru_cache(_KEPT)(self._partners)

    @cached_property
    def _known(self) -> Callable[[tuple[int, ...]], _Grown]:
        return lru_cache(_KEPT)(self._counted)

    @cached_property
    def _baskets_with(self) -> Callable[[tuple[int, ...]], Indices]:
        return lru_cache(2)(self._holding)  # a set and the same with one item more

    def _partners(self, row: int) -> Indices:
        others = self.relations.related(row, COMPLEMENT)
        lifts = self.relations.between(np.full(len(others), row), others).lift
        return others[lifts >= self.least_lift]

    def _holding(self, rows: tuple[int, ...]) -> Indices:
        """The baskets that hold all rows of a set, among those listed for its first two."""
        if len(rows) == 2:
            return self.baskets.holding(rows)[0]
        numbers = self._baskets_with(rows[:-1])
        items, sizes = self.baskets.contents(numbers)
        holding: Indices = numbers[np.repeat(np.arange(len(numbers)), sizes)[items == rows[-1]]]
        return holding

    def _counted(self, rows: tuple[int, ...]) -> _Grown:
        numbers, expected = self._baskets_with(rows), self.by_chance(np.array([rows]))
        before = self.partners(rows[0]) if len(rows) == 2 else self._known(rows[:-1]).further
        further = np.intersect1d(before, self.partners(rows[-1]))
        items, _ = self.baskets.contents(numbers)
        together = np.bincount(items, minlength=self.relations.kernel.size)[further].astype(np.float64)
        extended = np.column_stack([np.tile(rows, (len(further), 1)), further]).astype(np.intp)
        worth = _worth(together, self.by_chance(extended))
        worth[together < _LEAST_TOGETHER] = 0.0
        return _Grown(
            together=len(numbers),
            by_chance=float(expected[0]),
            worth=float(_worth(np.array([float(len(numbers))]), expected)[0]),
            further=further,
            further_worth=worth,
        )


@dataclass(frozen=True, slots=True)
class _Grown:
    """A set in growth: its counts, and the items that are complements of all of it."""

    together: int
    by_chance: float
    worth: float
    further: Indices
    further_worth: Vector  # of the set with one of them; 0 if too few baskets hold it


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
