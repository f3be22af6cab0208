"""Exact top-k by a bounded scan: stop as soon as no remaining item can reach the k-th best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ndpp.conditional import Conditional
from ndpp.kernel import Indices, Vector
from ndpp.tilt import Tilt


@dataclass(frozen=True, eq=False)
class Ranking:
    """Rows from best to worst with their scores τ_i² Δ_i; ties go to the lower (more popular) row."""

    rows: Indices
    scores: Vector


def rank(rows: Indices, scores: Vector, k: int) -> Ranking:
    """The k best of the given rows, best first."""
    order = np.lexsort((rows, -scores))[:k]
    return Ranking(rows[order], scores[order])


def top_k(state: Conditional, k: int, tilt: Tilt | None = None) -> Ranking:
    """The k items with the highest tilted gain. Rows in the cart or with τ² = 0 never appear."""
    tilt = tilt or Tilt()
    tilt.check(state.kernel.size)
    allowed = tilt.dense(state.kernel.size) > 0
    allowed[state.cart] = False
    rows = np.flatnonzero(allowed)
    return rank(rows, tilt.at(rows) * state.gains(rows), k)
