"""The best items for a conditioned cart together with the sum that makes their scores probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.compute import INLINE_OPERATIONS
from app.filters import Wishes
from ndpp import Conditional, ConditionalBatch, PairTable, Ranking, top_k
from ndpp.kernel import FloatArray, Indices, Vector
from ndpp.scan import rank

_LEAST = np.finfo(np.float64).tiny  # items with τ² = 0 have neither score nor error


@dataclass(frozen=True, slots=True)
class Scored:
    """Rows from best to worst, their scores τ²Δ and gains Δ, and Σ τ²Δ over the whole catalogue."""

    rows: Indices
    scores: Vector
    gains: Vector
    total: float


def best_items(state: Conditional, k: int, wishes: Wishes, pairs: PairTable | None = None) -> Scored:
    """The k items with the highest score, exactly; items that score 0 never appear.

    The sum over all items has a closed form only if no gain is clamped (ω = 0) and τ² is 1 but for a few
    items. Where it has none, every gain is needed anyway, and in a small catalogue one product with all of F
    is quicker than finding out which rows to skip. Quicker still is a table of `pairs`.
    """
    kernel = state.kernel
    if pairs is not None and pairs.suits(len(state.used)):
        gains, errors = pairs.gains(state)
        return _best_of_all(state, k, wishes, np.maximum(gains, 0.0, out=gains), errors)
    closed_form = state.decoupling == 0 and wishes.base is None
    if closed_form and kernel.size * kernel.rank * (len(state.cart) + 1) > INLINE_OPERATIONS:
        ranking = top_k(state, k, wishes.tilt)
        return _positive(ranking, wishes.tilt.at(ranking.rows), state.total(wishes.tilt))
    scanned = np.maximum(state.form.scan(kernel.factors, slice(None)), 0)
    errors = state.form.rounding(slice(None), kernel.factors.dtype)
    return _best_of_all(state, k, wishes, scanned, errors)


def best_items_of_each(batch: ConditionalBatch, k: int, wishes: Sequence[Wishes]) -> list[Scored]:
    """The same for many carts, whose gains come from one pass over F."""
    kernel = batch.kernel
    bests = []
    for number, (state, gains) in enumerate(zip(batch.states, batch.gains(), strict=True)):
        own = slice(number, number + 1)
        errors = batch.form.rounding(own, kernel.diagonal, kernel.squared_norms, exact=False)
        bests.append(_best_of_all(state, k, wishes[number], gains, errors))
    return bests


def _best_of_all(state: Conditional, k: int, wishes: Wishes, gains: FloatArray, errors: Vector) -> Scored:
    """From all gains, known up to `errors`; those that may be among the k best are scored in float64."""
    size = state.kernel.size
    tilt = wishes.dense(size)
    tilt[state.cart] = 0.0
    scores: Vector = tilt * gains
    total = float(scores.sum())
    margins = tilt * errors
    lowest = 0.0
    if k < size:
        lower = scores - margins
        lower.partition(size - k)
        lowest = lower[size - k]
    scores += margins
    rows = (scores >= max(lowest, _LEAST)).nonzero()[0]
    exact = state.form.exact(rows)
    if not (exact > errors[rows]).all():  # otherwise they are far above the rounding of float64 as well
        exact = state.form.gains(rows)
    ranking = rank(rows, tilt[rows] * exact, k)
    return _positive(ranking, tilt[ranking.rows], total)


def _positive(ranking: Ranking, factors: Vector, total: float) -> Scored:
    count = int(np.count_nonzero(ranking.scores))  # none is negative, and those without a score come last
    scores = ranking.scores[:count]
    return Scored(ranking.rows[:count], scores, scores / factors[:count], total)
