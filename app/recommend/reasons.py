"""Why an item is recommended: the shares of its probability by source."""

from __future__ import annotations

import numpy as np

from app.items.catalogue import Catalogue
from app.recommend.ranking import Ranked
from app.recommend.schemas import Reason
from ndpp import Prediction
from ndpp.kernel import Matrix, Vector
from ndpp.next_item import BASKETS, HABIT, TOGETHER


def reasons_of(catalogue: Catalogue, prediction: Prediction, best: Ranked) -> list[list[Reason]]:
    """For each item the sources of its probability, the largest share first; the shares add up to 1.

    Of the shares of `together` and `habit`, which both know the cart, what the item would have for an empty
    cart is habit: the cart explains only what it adds. The rest is divided among the cart's items by how far
    leaving each of them out lowers the log-score of `together`; where no item lowers it, the cart is not the
    reason.
    """
    totals = best.shares.sum(axis=0)
    shares = np.divide(best.shares, totals, out=np.zeros_like(best.shares), where=totals > 0)  # (3, n)
    usual = np.exp(prediction.model.log_usual[best.rows])
    aware, weight = best.shares[TOGETHER] + best.shares[HABIT], 1 - prediction.weights[BASKETS]
    added = np.maximum(aware - weight * usual, 0.0)  # beyond what is usual, if the cart said nothing
    by_item = _divided(
        prediction, best, np.divide(added, totals, out=np.zeros_like(totals), where=totals > 0)
    )
    habit = shares[HABIT] + shares[TOGETHER] - by_item.sum(axis=0)
    reasons = []
    for column in range(len(best.rows)):
        found = [
            Reason("cart_item", catalogue.item_id(row), catalogue.name(row), float(by_item[place, column]))
            for place, row in enumerate(prediction.cart.tolist())
        ]
        found.append(Reason("similar_baskets", None, None, float(shares[BASKETS, column])))
        found.append(Reason("habit", None, None, float(habit[column])))
        reasons.append(sorted((r for r in found if r.share > 0), key=lambda reason: -reason.share))
    return reasons


def _divided(prediction: Prediction, best: Ranked, share: Vector) -> Matrix:
    """The share of each cart item, (cart, n)."""
    if not len(prediction.cart) or not len(best.rows):
        return np.zeros((len(prediction.cart), len(best.rows)))
    drops = np.maximum(prediction.leaving_out(best.rows), 0.0)
    totals = drops.sum(axis=0)
    divided: Matrix = np.divide(drops * share, totals, out=np.zeros_like(drops), where=totals > 0)
    return divided
