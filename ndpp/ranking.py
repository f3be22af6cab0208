"""The k best items for a cart: probabilities under factors (filters and boosts) and another order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndpp.kernel import Indices, Matrix, Vector
from ndpp.next_item import Prediction

# Gains in the precision of F are not exact: items this close below the k-th best are computed exactly.
_MARGIN = 0.99


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows from best to worst, the share of each expert in P(row | cart), and the displayed probability.

    The displayed probability is over the items that the filters leave, with boosts multiplying the odds.
    """

    rows: Indices
    shares: Matrix  # (4, n): they add up to P(row | cart)
    probabilities: Vector  # (n,)


@dataclass(frozen=True, slots=True)
class Order:
    """Rank by another prediction's probability, divided by P(i | empty cart)^γ."""

    prediction: Prediction | None = None
    popularity: float = 0.0  # γ


def best_items(prediction: Prediction, k: int, factors: Vector, order: Order) -> Ranked:
    """The k items with the highest P(i | cart) · factor, or the first k of `order`; never items with P = 0.

    P of the whole catalogue comes from gains in the precision of F, P of the finalists from float64.
    """
    weights = prediction.probabilities * factors
    total = float(weights.sum())
    ranking = order.prediction or prediction
    marks = weights if order.prediction is None else ranking.probabilities * factors
    usual: Vector | None = None
    if order.popularity:
        log_usual = prediction.model.log_usual
        usual = np.exp(-order.popularity * (log_usual - log_usual.max()))
        marks = marks * np.where(np.isfinite(usual), usual, 0.0)
    size = len(marks)
    lowest = np.partition(marks, size - k)[size - k] if k < size else 0.0
    rows = np.flatnonzero((marks >= _MARGIN * lowest) & (marks > 0))
    shares = prediction.expert_shares(rows)
    finished = shares.sum(axis=0) * factors[rows]
    exact = finished
    if order.prediction is not None:
        exact = ranking.expert_shares(rows).sum(axis=0) * factors[rows]
    if usual is not None:
        exact = exact * usual[rows]
    best = np.lexsort((rows, -exact))[:k]
    best = best[exact[best] > 0]
    probabilities = np.minimum(finished[best] / total, 1.0) if total > 0 else np.zeros(len(best))
    return Ranked(rows[best], shares[:, best], probabilities)
