"""The best items for a cart: the finished probabilities under filters, boosts and dials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndpp import Prediction
from ndpp.kernel import Indices, Matrix, Vector

# Gains in the precision of F are off by a little: what lies this close below the k-th is computed exactly.
_MARGIN = 0.99


@dataclass(frozen=True, slots=True)
class Ranked:
    """Rows from best to worst; the share of each expert in P(row | cart); the probability as shown.

    The shown one is over the items that the filters leave, with boosts multiplying the odds.
    """

    rows: Indices
    shares: Matrix  # (3, n): they add up to P(row | cart)
    probabilities: Vector  # (n,)


@dataclass(frozen=True, slots=True)
class Order:
    """What ranks instead of the probability: another prediction, and usual items played down by γ."""

    prediction: Prediction | None = None
    popularity: float = 0.0


def best_items(prediction: Prediction, k: int, factors: Vector, order: Order) -> Ranked:
    """The k items with the highest P(i | cart) · factor; an item without any never appears.

    P comes from gains in the precision of F for the whole catalogue, and in float64 for the finalists.
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
    shares = prediction.exactly(rows)
    finished = shares.sum(axis=0) * factors[rows]
    exact = finished
    if order.prediction is not None:
        exact = ranking.exactly(rows).sum(axis=0) * factors[rows]
    if usual is not None:
        exact = exact * usual[rows]
    best = np.lexsort((rows, -exact))[:k]
    best = best[exact[best] > 0]
    probabilities = np.minimum(finished[best] / total, 1.0) if total > 0 else np.zeros(len(best))
    return Ranked(rows[best], shares[:, best], probabilities)
