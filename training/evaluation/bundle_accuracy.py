"""Accuracy of P(set | cart): the best two further items, against held-out baskets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ndpp.sets import Constraints, SetPredictor, best_set
from training.baskets import Baskets
from training.sets.queries import Query, draw_carts, draw_purchases, predicted

_CARTS = 300  # of each size
_CART_SIZES = (1, 2, 3)
_ITEMS = 2


@dataclass(frozen=True, slots=True)
class BundleAccuracy:
    """Mean predicted probability of the bundle (claimed) and the share of baskets that hold it (true)."""

    carts: int
    claimed: float
    true: float


@dataclass(frozen=True, slots=True)
class BundleAccuracies:
    """For single items, and for carts of one to three items; None if too few baskets were held out."""

    single: BundleAccuracy | None
    cart: BundleAccuracy | None


def bundle_accuracies(predictor: SetPredictor, held_out: Baskets, seed: int = 0) -> BundleAccuracies:
    """The accuracy on held-out baskets in the rows of the model."""
    return BundleAccuracies(
        single=_accuracy(predictor, draw_purchases(held_out, _CARTS, np.random.default_rng(seed))),
        cart=_accuracy(predictor, _carts(held_out, np.random.default_rng(seed))),
    )


def _carts(held_out: Baskets, rng: np.random.Generator) -> Iterator[Query]:
    for size in _CART_SIZES:
        yield from draw_carts(held_out, size, _CARTS, rng)


def _accuracy(predictor: SetPredictor, queries: Iterable[Query]) -> BundleAccuracy | None:
    everything = Constraints(np.ones(len(predictor.baskets.rarity)))
    claimed, true = [], []
    for query, prediction in predicted(predictor, queries):
        bundle = best_set(prediction, _ITEMS, everything)
        places = np.searchsorted(prediction.candidates, bundle).tolist()
        if len(places) == _ITEMS:
            claimed.append(prediction.probability_of_best(places))
            true.append(bool(np.isin(bundle, query.basket).all()))
    if not claimed:
        return None
    return BundleAccuracy(len(claimed), float(np.mean(claimed)), float(np.mean(true)))
