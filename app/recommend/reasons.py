"""Explanations of recommendations: the share of each source in an item's probability."""

from __future__ import annotations

import numpy as np

from app.catalogue.snapshot import Snapshot
from app.recommend.schemas import Reason
from ndpp import Prediction
from ndpp.kernel import Matrix, Vector
from ndpp.next_item import BASKETS, HABIT, TOGETHER
from ndpp.ranking import Ranked


def reasons_of(snapshot: Snapshot, prediction: Prediction, best: Ranked) -> list[list[Reason]]:
    """The sources of each item's probability, largest share first; the shares of an item add up to 1.

    The experts `together` and `habit` both depend on the cart. The part of their probability that the item
    would have for an empty cart counts as habit, so that the cart explains only what it adds. The rest is
    divided among the cart's items by how much leaving each one out lowers the log-score of `together`; if
    none lowers it, it counts as habit too.
    """
    totals = best.shares.sum(axis=0)
    shares = np.divide(best.shares, totals, out=np.zeros_like(best.shares), where=totals > 0)  # (4, n)
    usual = np.exp(prediction.model.log_usual[best.rows])
    aware, weight = best.shares[TOGETHER] + best.shares[HABIT], 1 - prediction.weights[BASKETS]
    added = np.maximum(aware - weight * usual, 0.0)  # beyond the probability for an empty cart
    by_item = _divided(
        prediction, best, np.divide(added, totals, out=np.zeros_like(totals), where=totals > 0)
    )
    habit = shares[HABIT] + shares[TOGETHER] - by_item.sum(axis=0)
    reasons = []
    for column in range(len(best.rows)):
        found = [
            Reason("cart_item", snapshot.item_id(row), snapshot.name(row), float(by_item[place, column]))
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
