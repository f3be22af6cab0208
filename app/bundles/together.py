"""Bundles with `objective=together`: items that people buy with the given ones, or that belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log

import numpy as np

from app.bundles.personal import personal_factors
from app.bundles.schemas import BundleRequest
from app.recommend.question import Question, reordered
from ndpp.kernel import Indices, Vector
from ndpp.sets import Attraction, Constraints, Limit, SetPrediction, SetPredictor, best_set
from ndpp.sets.attraction import MORE_STARTS, STARTS
from ndpp.sets.probability import CANDIDATES

_COUNTING = 100e6  # multiply-adds to count pairs of candidates in 20,000 baskets
_GROWING = 2e6  # to grow one pair to a bundle, if its counts are not kept


@dataclass(frozen=True, slots=True)
class Found:
    """A bundle: its rows, and the numbers that the response shows."""

    rows: list[int]
    singles: list[float | None]
    probability: float
    baskets: int | None
    baskets_with_given: int | None
    by_chance: float


def operations(question: Question[BundleRequest]) -> float:
    """Estimated multiply-adds, without those of a recommendation."""
    request = question.options
    if question.cart.rows or request.include:
        one = sum(_COUNTING * max(1.0, size / 4) for size in request.sizes)
    else:
        one = sum(_COUNTING / 4 + _starts(size) * _GROWING for size in request.sizes)
    return (request.skip + request.alternatives) * one


def _starts(size: int) -> int:
    return STARTS if size <= 4 else MORE_STARTS


def find_together(
    question: Question[BundleRequest], predictor: SetPredictor, attraction: Attraction
) -> list[Found]:
    """The bundles after the skipped ones, best first; each shares at most half of its items with another."""
    search, request, found = _Together(question, predictor, attraction), question.options, list[Found]()
    while len(found) < request.skip + request.alternatives:
        bundle = search.next([each.rows for each in found])
        if bundle is None:
            break
        found.append(bundle)
    return found[request.skip :]


@dataclass(frozen=True, eq=False)
class _Together:
    question: Question[BundleRequest]
    predictor: SetPredictor
    attraction: Attraction

    @cached_property
    def _include(self) -> list[int]:
        snapshot, cart = self.question.snapshot, set(self.question.cart.rows)
        rows: dict[int, None] = {}
        for item_id in self.question.options.include:
            row = snapshot.row_of(item_id)
            if row is not None and row not in cart:
                rows[row] = None
        return list(rows)

    @cached_property
    def _constraints(self) -> Constraints:
        snapshot, request = self.question.snapshot, self.question.options
        given = self.question.cart.rows or self._include
        factors = personal_factors(self.question, given) * self._by_popularity
        limits = [limit.up_to(len(factors)) for limit in self.question.limits]
        if request.max_per_category is not None:
            limits.append(Limit(snapshot.categories.codes[: len(factors)], request.max_per_category))
        limit = np.inf if request.max_total_price is None else request.max_total_price
        return Constraints(factors, self._include, limits, snapshot.known_prices, limit)

    @cached_property
    def _by_popularity(self) -> Vector | float:
        """1 / P(i | empty cart)^γ for `discovery`, scaled to at most 1.

        Without given items it is 1 / share of baskets^(2γ / k): the worth of a bundle is then divided by the
        geometric mean of its items' shares, to the power of 2γ.
        """
        gamma = self.question.options.popularity()
        if not gamma:
            return 1.0
        if self.question.cart.rows or self._include:
            logs = -gamma * self.predictor.next_item.log_usual
        else:
            logs = -2 * gamma / self.question.options.k * np.log((self._counts + 0.5) / (self._baskets + 1))
        finite = np.isfinite(logs)
        scaled: Vector = np.exp(np.where(finite, logs - logs[finite].max(), -np.inf))
        return scaled

    def next(self, earlier: Sequence[list[int]]) -> Found | None:
        """The best bundle that shares at most half of its free items with each earlier one."""
        constraints = replace(
            self._constraints, limits=[*self._constraints.limits, *self._differing(earlier)]
        )
        if not constraints.allows(self._include):
            return None
        tried = [
            bundle for size in self.question.options.sizes for bundle in self._of_size(size, constraints)
        ]
        if earlier:  # the included items alone are no alternative, nor is a smaller bundle
            least = max(len(self._include) + 1, min(self.question.options.k, len(earlier[0])))
            tried = [bundle for bundle in tried if len(bundle.rows) >= least]
        longest = min(max((len(bundle.rows) for bundle in tried), default=0), self.question.options.k)
        tried = [bundle for bundle in tried if len(bundle.rows) >= longest > 0]
        return max(tried, key=self._attraction_of, default=None)

    def _differing(self, earlier: Sequence[list[int]]) -> Iterator[Limit]:
        for rows in earlier:
            free = [row for row in rows if row not in self._include]
            marked = np.zeros(self.question.snapshot.model.kernel.size, dtype=np.bool_)
            marked[free] = True
            yield Limit.on(marked, len(free) // 2)

    def _attraction_of(self, bundle: Found) -> float:
        """P · log(P / P by chance): comparable between sizes."""
        chance = bundle.by_chance / max(bundle.baskets_with_given or self._baskets, 1)
        return bundle.probability * log(max(bundle.probability / max(chance, 1e-12), 1.0))

    def _of_size(self, size: int, constraints: Constraints) -> Iterator[Found]:
        cart = self.question.cart.rows
        if cart:
            chosen, prediction = self._best(cart, size, constraints)
            if len(chosen):
                singles = prediction.singles[_places(prediction, chosen)].tolist()
                probability = prediction.probability_of_best(_places(prediction, chosen))
                yield self._found(chosen, singles, probability)
        elif self._include:
            chosen, _ = self._best(self._include, size - len(self._include), self._besides(constraints))
            yield self._without_cart([*self._include, *chosen])
        else:
            yield from self._from_nothing(size, constraints)

    def _best(self, given: list[int], size: int, constraints: Constraints) -> tuple[list[int], SetPrediction]:
        """The best set of `size` items given others, and the prediction that its numbers come from."""
        other = reordered(self.predictor.next_item, self.question.options)
        follows = None if other is None else other.given(given)
        factors = np.exp(constraints.log_factors)

        def search(spare: Sequence[int]) -> tuple[list[int], SetPrediction]:
            prediction = self.predictor.given(
                given,
                as_cart=self._as_cart(given),
                factors=factors,
                include=[*constraints.include, *spare],
                prediction=follows,
                candidates=max(CANDIDATES, size),
            )
            return best_set(prediction, size, constraints).tolist(), prediction

        chosen, prediction = search([])
        if len(chosen) < size:  # the limits allow too few of the likely items
            chosen, prediction = search(self._spare(given, size, constraints))
        if other is not None:  # the order is that of the dials, the numbers are as learned
            prediction = self.predictor.given(given, as_cart=self._as_cart(given), include=chosen)
        return chosen, prediction

    def _as_cart(self, given: Sequence[int]) -> bool:
        """Whether the items are a cart in the making: a stored cart, or several items."""
        stored = self.question.cart.cart_id is not None and bool(self.question.cart.rows)
        return stored or len(given) > 1

    def _spare(self, given: list[int], size: int, constraints: Constraints) -> list[int]:
        """Items that can fill a bundle within its limits: the cheapest or most frequent of each group."""
        cheap = np.isfinite(constraints.most_price)
        key = self.question.snapshot.known_prices if cheap else -self._counts
        rows = np.setdiff1d(np.flatnonzero(constraints.allowed), given)
        rows = rows[np.argsort(key[rows], kind="stable")]
        limited = np.zeros(len(key), dtype=np.bool_)
        kept = np.zeros(len(key), dtype=np.bool_)
        for limit in constraints.limits:
            limited |= limit.marked
            kept[rows[limit.first(rows)]] = True
        kept[rows[~limited[rows]][:size]] = True
        spare: list[int] = rows[kept[rows]][: 2 * size].tolist()
        return spare

    def _besides(self, constraints: Constraints) -> Constraints:
        """The constraints on the other items of a bundle that holds the included ones."""
        limits = [left for limit in constraints.limits for left in limit.besides(self._include)]
        most_price = constraints.most_price
        if np.isfinite(most_price):
            most_price -= float(self.question.snapshot.prices[self._include].sum())
        return replace(constraints, include=(), limits=limits, most_price=most_price)

    def _from_nothing(self, size: int, constraints: Constraints) -> Iterator[Found]:
        if size == 1:
            counts = self._counts * constraints.factors
            best_row = int(np.argmax(np.where(constraints.allowed, counts, -1.0)))
            if constraints.allowed[best_row]:
                yield self._without_cart([best_row])
            return
        sets = self.attraction.sets(size, constraints, starts=_starts(size))
        best = next((each for each in sets if len(each.rows) == size), None)
        if best is not None:
            yield self._without_cart(list(best.rows))

    def _without_cart(self, rows: list[int]) -> Found:
        """P(S) = P(i) · P(the others | i) with the rarest item, whose baskets are counted best."""
        rarest = min(rows, key=lambda row: int(self._counts[row]))
        probability = float(self._counts[rarest]) / self._baskets
        if others := [row for row in rows if row != rarest]:
            prediction = self.predictor.given([rarest], include=others)
            places = _places(prediction, others)
            searched = len(rows) > len(self._include)
            share = prediction.probability_of_best if searched else prediction.probability
            probability *= share(places)
        return self._found(rows, [None] * len(rows), probability)

    def _found(self, rows: list[int], singles: Sequence[float | None], probability: float) -> Found:
        given = self.question.cart.rows
        every = np.array([[*given, *rows]], dtype=np.intp)
        return Found(
            rows=rows,
            singles=list(singles),
            probability=probability,
            baskets=self._baskets_with([*given, *rows]),
            baskets_with_given=self._baskets_with(given),
            by_chance=float(self.attraction.by_chance(every)[0]),
        )

    @cached_property
    def _baskets(self) -> int:
        """All training baskets."""
        return int(self.predictor.relations.lifts.class_totals.sum())

    @cached_property
    def _counts(self) -> Indices:
        """Training baskets with each item, (M,)."""
        counts: Indices = self.predictor.relations.lifts.class_counts.sum(axis=1)
        return counts

    def _baskets_with(self, rows: Sequence[int]) -> int | None:
        """Training baskets that hold all `rows`; None if they are not all listed."""
        if not rows:
            return self._baskets
        if len(rows) == 1:  # the index lists no baskets of one item
            return int(self._counts[rows[0]])
        numbers, complete = self.predictor.baskets.holding(rows)
        return len(numbers) if complete else None


def _places(prediction: SetPrediction, rows: Sequence[int]) -> list[int]:
    return [int(place) for place in np.searchsorted(prediction.candidates, np.asarray(rows, dtype=np.intp))]
