"""P(S | Y): the probability that the finished basket holds all items of S, given that it holds the cart Y.

Counts know what was seen, the model knows what was not. Empirical Bayes joins them:

    P(S | Y) = (c + s · P_model) / (n + s),        s = exp(a + b log|Y|) · max(P_model, 10⁻³)^(−q)

n is the weighted number of training baskets that hold Y or miss at most two items of it, and c the weighted
number of those that also hold S. For a single item, P_model is a logistic function of the probability
P(i | Y) that it comes next. For several items it is a log-linear function of their single probabilities and
of the lifts between them. All coefficients are fitted to validation baskets (`training.sets`).

A single given item, such as that of a product page, stands for all baskets that hold it, each with the same
weight: P is then the share of baskets with this item that also hold S. A cart is in the making: every basket
is equally likely to be the shopper's, whichever of its items came first. A large basket has more subsets that
could be this cart, so each of them is less likely, and its weight is lower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from ndpp.basket_index import BasketIndex
from ndpp.basket_sizes import BasketSizes
from ndpp.kernel import Indices, Matrix, Vector
from ndpp.lifts import RelatedItems
from ndpp.next_item import NextItem, Prediction
from ndpp.sets.coefficients import SetModel
from ndpp.sets.prediction import SetPrediction

MOST_MISSING = 2  # baskets that miss more items of the cart do not count
MOST_BASKETS = 20_000  # that are counted for one cart
CANDIDATES = 30  # by count, and as many by probability
_USUAL_SIZE = 10.0  # a basket of this size has weight 1 for a cart of several items
_USUAL_BASKETS = 2.0  # baskets of usual sizes that are added to the counted ones
_LEAST_FURTHER = 0.01  # keeps the logarithm of the expected number of further items finite
_LEAST_LOG = float(np.log(1e-9))


@dataclass(frozen=True, eq=False)
class SetPredictor:
    """Everything that P(S | Y) is computed from."""

    model: SetModel
    next_item: NextItem
    relations: RelatedItems
    baskets: BasketIndex
    sizes: BasketSizes

    def given(
        self,
        cart: ArrayLike,
        *,
        as_cart: bool | None = None,
        factors: Vector | None = None,
        include: Sequence[int] = (),
        prediction: Prediction | None = None,
        candidates: int = CANDIDATES,
        most: int = MOST_BASKETS,
    ) -> SetPrediction:
        """The prediction for sets of likely items outside a cart that is not empty.

        `as_cart` says whether the items are a cart in the making; by default they are if there are several.
        The candidates are the items that the counted baskets hold most often or that are most likely to come
        next, times their `factors` (M,): `candidates` of each kind, and the items of `include`. `prediction`
        is that of the next item, if it is known. At most `most` baskets are counted.
        """
        prediction = prediction or self.next_item.given(cart)
        rows = prediction.cart
        numbers, shared = self.baskets.sharing(rows, max(1, len(rows) - MOST_MISSING), most)
        items, sizes = self.baskets.contents(numbers)
        missing = len(rows) - shared
        as_cart = len(rows) > 1 if as_cart is None else as_cart
        by_size = _USUAL_SIZE / sizes if as_cart else np.ones(len(numbers))
        model = self.model.coefficients(as_cart=as_cart)
        weights = model.levels(len(rows))[missing] * by_size
        free = np.ones(len(self.baskets.rarity)) if factors is None else factors.copy()
        free[rows] = 0.0
        counts = np.bincount(items, np.repeat(weights, sizes), minlength=len(free))
        chosen = np.union1d(
            _highest(counts * free, candidates), _highest(prediction.probabilities * free, candidates)
        )
        found = np.union1d(chosen, np.asarray(include, dtype=np.intp)).astype(np.intp)
        place = np.full(len(free), -1)
        place[found] = np.arange(len(found))
        members = np.zeros((len(numbers), len(found)), dtype=np.float32)
        owners, places = np.repeat(np.arange(len(numbers)), sizes), place[items]
        members[owners[places >= 0], places[places >= 0]] = 1.0
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(prediction.probabilities[found]), _LEAST_LOG)
        return SetPrediction(
            model=model,
            cart=rows,
            candidates=found,
            log_next=logs,
            log_common=self._log_common[found],
            log_lifts=self._log_lifts(found),
            **self._further(rows, weights, sizes - shared, self._alone(rows, len(numbers), as_cart), as_cart),
            members=members,
            missing=missing,
            weights=weights,
        )

    @cached_property
    def _log_common(self) -> Vector:
        """log of the share of training baskets that hold each item, (M,)."""
        lifts = self.relations.lifts
        logs: Vector = np.log((lifts.class_counts.sum(axis=1) + 0.5) / (lifts.class_totals.sum() + 1))
        return logs

    def _log_lifts(self, candidates: Indices) -> Matrix:
        """log lift of all pairs of candidates, (C, C), 0 on the diagonal."""
        one, other = np.triu_indices(len(candidates), 1)
        logs = np.zeros((len(candidates), len(candidates)))
        logs[one, other] = np.log(self.relations.between(candidates[one], candidates[other]).lift)
        return logs + logs.T

    def _further(
        self, rows: Indices, weights: Vector, further: Indices, alone: float, as_cart: bool
    ) -> dict[str, float]:
        """The expected number of further items and its spread in the counted baskets, shrunk."""
        sizes, shares = np.arange(len(self.sizes.counts)), self.sizes.counts / self.sizes.counts.sum()
        usual = float(shares @ sizes), float(shares @ sizes**2)
        total = float(weights.sum()) + alone + _USUAL_BASKETS
        mean = (float(weights @ further) + _USUAL_BASKETS * usual[0]) / total
        square = (float(weights @ further**2) + _USUAL_BASKETS * usual[1]) / total
        expected = self.sizes.forecast(rows).further if as_cart else mean
        return {
            "alone": alone,
            "log_further": float(np.log(expected + _LEAST_FURTHER)),
            "log_spread": float(np.log(square / mean**2)),
        }

    def _alone(self, rows: Indices, counted: int, as_cart: bool) -> float:
        """The weight of baskets that hold a single given item alone; the index lists no such baskets.

        If the index lists only a part of the other baskets with the item, it is the same part of these.
        """
        if len(rows) > 1:
            return 0.0
        by_class = self.relations.lifts.class_counts[rows[0]]
        alone = float(by_class[0]) * min(counted / max(int(by_class[1:].sum()), 1), 1.0)
        return alone * (_USUAL_SIZE if as_cart else 1.0)


def _highest(values: Vector, most: int) -> Indices:
    """The places of the highest positive values."""
    places: Indices = np.flatnonzero(values > 0)
    if len(places) > most:
        places = places[np.argpartition(-values[places], most)[:most]]
    return places
