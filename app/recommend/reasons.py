"""Explanations of recommendations: the share of each source in an item's probability."""

from __future__ import annotations

import numpy as np

from app.recommend.question import Question
from app.recommend.request import RecommendOptions
from app.recommend.schemas import Reason
from app.shoppers.histories import Past
from ndpp import Prediction
from ndpp.kernel import Indices, Matrix, Vector
from ndpp.next_item import BASKETS, HABIT, OWN, TOGETHER
from ndpp.ranking import Ranked
from ndpp.sparse import BoolVector, find


def reasons_of(
    question: Question[RecommendOptions], prediction: Prediction, best: Ranked
) -> list[list[Reason]]:
    """The sources of each item's probability, largest share first; the shares of an item add up to 1.

    The experts `together` and `habit` both depend on the cart. The part of their probability that the item
    would have for an empty cart counts as habit, so that the cart explains only what it adds. The rest is
    divided among the cart's items by how much leaving each one out lowers the log-score of `together`; if
    none lowers it, it counts as habit too. The expert `own` is the reason for items that the shopper bought
    before; for others it depends on the cart like `together`, and counts with it.
    """
    known = _known(question, prediction, best.rows)
    totals = best.shares.sum(axis=0)
    shares = np.divide(best.shares, totals, out=np.zeros_like(best.shares), where=totals > 0)  # (4, n)
    bought = _bought(prediction, best.rows)
    usual = np.exp(question.snapshot.log_usual[best.rows])
    aware = best.shares[TOGETHER] + best.shares[HABIT] + np.where(bought, 0.0, best.shares[OWN])
    weight = 1 - prediction.weights[BASKETS] - np.where(bought, prediction.weights[OWN], 0.0)
    added = np.maximum(aware - weight * usual, 0.0)  # beyond the probability for an empty cart
    by_item = _divided(
        prediction, known, np.divide(added, totals, out=np.zeros_like(totals), where=totals > 0)
    )
    own = np.where(bought, shares[OWN], 0.0)
    habit = shares[HABIT] + shares[TOGETHER] + shares[OWN] - own - by_item.sum(axis=0)
    snapshot, cart, reasons = question.snapshot, question.cart, []
    for column, item in enumerate(best.rows.tolist()):
        found = [
            Reason(
                "cart_item",
                cart.item_id(snapshot, row),
                cart.name(snapshot, row),
                float(by_item[place, column]),
            )
            for place, row in enumerate(prediction.cart.tolist())
        ]
        found.append(Reason("similar_baskets", None, None, float(shares[BASKETS, column])))
        found.append(Reason("habit", None, None, float(habit[column])))
        if own[column] > 0 and question.past is not None:
            found.append(Reason("own", None, None, float(own[column]), *_purchases(question.past, item)))
        reasons.append(sorted((r for r in found if r.share > 0), key=lambda reason: -reason.share))
    return reasons


def _bought(prediction: Prediction, rows: Indices) -> BoolVector:
    """Which of the rows the shopper bought before."""
    history = prediction.history
    return np.zeros(len(rows), dtype=np.bool_) if history is None else find(rows, history.items)[1]


def _purchases(past: Past, row: int) -> tuple[int, int | None]:
    """How often the shopper bought the item, and how many days ago the last time."""
    place = int(np.searchsorted(past.history.items, row))
    return int(past.history.counts[place]), int(past.history.last[place]) if past.dated else None


def _known(question: Question[RecommendOptions], prediction: Prediction, rows: Indices) -> Indices:
    """The rows; instead of an item that the model does not know the most similar one, −1 if there is none."""
    snapshot, cart = question.snapshot, set(prediction.cart.tolist())
    similar = [snapshot.most_similar(row, cart) if snapshot.is_cold(row) else row for row in rows.tolist()]
    return np.array([-1 if row is None else row for row in similar], dtype=np.intp)


def _divided(prediction: Prediction, rows: Indices, share: Vector) -> Matrix:
    """The share of each cart item, (cart, n)."""
    if not len(prediction.cart) or not len(rows):
        return np.zeros((len(prediction.cart), len(rows)))
    drops = np.zeros((len(prediction.cart), len(rows)))
    drops[:, rows >= 0] = np.maximum(prediction.leaving_out(rows[rows >= 0]), 0.0)
    totals = drops.sum(axis=0)
    divided: Matrix = np.divide(drops * share, totals, out=np.zeros_like(drops), where=totals > 0)
    return divided
