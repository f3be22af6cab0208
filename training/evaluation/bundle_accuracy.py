"""Accuracy of P(set | cart): the best two further items, against held-out baskets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndpp.sets import Constraints, SetPredictor, best_set
from training.baskets import Baskets
from training.sets.queries import draw_queries

_CARTS = 500  # of each size
_CART_SIZES = (2, 3)
_ITEMS = 2


@dataclass(frozen=True, slots=True)
class BundleAccuracy:
    """Mean predicted probability of the bundle (claimed) and the share of baskets that hold it (true)."""

    carts: int
    claimed: float
    true: float


@dataclass(frozen=True, slots=True)
class BundleAccuracies:
    """For single items, and for carts of two or three items; None if too few baskets were held out."""

    single: BundleAccuracy | None
    cart: BundleAccuracy | None


def bundle_accuracies(predictor: SetPredictor, held_out: Baskets, seed: int = 0) -> BundleAccuracies:
    """The accuracy on held-out baskets in the rows of the model."""
    return BundleAccuracies(
        single=_accuracy(predictor, held_out, (1,), seed),
        cart=_accuracy(predictor, held_out, _CART_SIZES, seed),
    )


def _accuracy(
    predictor: SetPredictor, held_out: Baskets, sizes: tuple[int, ...], seed: int
) -> BundleAccuracy | None:
    rng, everything = np.random.default_rng(seed), Constraints(np.ones(len(predictor.baskets.rarity)))
    claimed, true = [], []
    for size in sizes:
        for query in draw_queries(held_out, size, _CARTS, rng):
            prediction = predictor.given(query.cart)
            bundle = best_set(prediction, _ITEMS, everything)
            places = np.searchsorted(prediction.candidates, bundle).tolist()
            if len(places) == _ITEMS:
                claimed.append(prediction.probability_of_best(places))
                true.append(bool(np.isin(bundle, query.basket).all()))
    if not claimed:
        return None
    return BundleAccuracy(len(claimed), float(np.mean(claimed)), float(np.mean(true)))
