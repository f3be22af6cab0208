"""The best items for a conditioned cart together with the sum that makes their scores probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.compute import INLINE_OPERATIONS
from app.filters import Wishes
from ndpp import Conditional, Ranking, top_k
from ndpp.kernel import FloatArray, Indices, Vector
from ndpp.scan import rank

_NO_ROWS = np.empty(0, dtype=np.intp)
_LEAST = np.finfo(np.float64).tiny  # items with τ² = 0 have neither score nor error


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows from best to worst, their scores τ²Δ and gains Δ, and Σ τ²Δ over the whole catalogue."""

    rows: Indices
    scores: Vector
    gains: Vector
    total: float


def best_items(state: Conditional, k: int, wishes: Wishes, gains: FloatArray | None = None) -> Scored:
    """The k items with the highest score, exactly; items that score 0 never appear.

    `gains` of the whole catalogue are given where a batch has them from a pass shared by many carts.

    The sum over all items has a closed form only if no gain is clamped (ω = 0) and τ² is 1 but for a few
    items. Where it has none, every gain is needed anyway, and in a small catalogue one product with all of F
    is quicker than finding out which rows to skip.
    """
    kernel = state.kernel
    closed_form = state.decoupling == 0 and wishes.base is None
    if (
        gains is None
        and closed_form
        and kernel.size * kernel.rank * (len(state.cart) + 1) > INLINE_OPERATIONS
    ):
        ranking = top_k(state, k, wishes.tilt)
        return _positive(ranking, wishes.tilt.at(ranking.rows), state.total(wishes.tilt))
    if gains is None:
        gains = np.maximum(state.form.scan(kernel.factors, slice(None)), 0)
    return _of_all(state, k, wishes, gains)


def _of_all(state: Conditional, k: int, wishes: Wishes, gains: FloatArray) -> Scored:
    """From all gains in the precision of F; those that may be among the k best are scored in float64."""
    kernel, everything = state.kernel, slice(None)
    tilt = wishes.dense(kernel.size)
    tilt[state.cart] = 0.0
    scores = tilt * gains
    total = float(scores.sum())
    if k == 0:
        return Scored(_NO_ROWS, np.empty(0), np.empty(0), total)
    errors = tilt * state.form.rounding(everything, kernel.factors.dtype)
    lowest = np.partition(scores - errors, -k)[-k] if k < kernel.size else 0.0
    rows = np.flatnonzero(scores + errors >= max(lowest, _LEAST))
    ranking = rank(rows, tilt[rows] * state.form.gains(rows), k)
    return _positive(ranking, tilt[ranking.rows], total)


def _positive(ranking: Ranking, factors: Vector, total: float) -> Scored:
    count = int(np.count_nonzero(ranking.scores > 0))
    scores = ranking.scores[:count]
    return Scored(ranking.rows[:count], scores, scores / factors[:count], total)
