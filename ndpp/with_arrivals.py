"""A prediction over a catalogue in which the model's items are followed by arrivals, mixtures of these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ndpp.arrivals import Arrivals
from ndpp.kernel import Indices, Matrix, Vector
from ndpp.next_item import EXPERTS, Prediction


@dataclass(frozen=True, eq=False)
class WithArrivals:
    """P(i | cart) of all rows. It adds up to 1 over the model's items, so it must be normalised again."""

    prediction: Prediction
    arrivals: Arrivals
    log_usual: Vector  # (size,)

    @cached_property
    def probabilities(self) -> Vector:
        """P(i | cart), (size,)."""
        known = self.prediction.probabilities
        return np.concatenate([known, self.arrivals.probabilities(known)])

    def expert_shares(self, rows: Indices) -> Matrix:
        """The share of each expert in P(i | cart) of some rows, from gains in float64, (4, n)."""
        return shares_with_arrivals(self.prediction, self.prediction.expert_shares, self.arrivals, rows)


def shares_with_arrivals(
    prediction: Prediction, of_known: Callable[[Indices], Matrix], arrivals: Arrivals, rows: Indices
) -> Matrix:
    """The share of each expert in P(i | cart) of some rows, (4, n), given a function for known items."""
    size = prediction.model.kernel.size
    cold = rows >= size
    shares = np.empty((len(EXPERTS), len(rows)))
    shares[:, ~cold] = of_known(rows[~cold])
    if cold.any():
        places = rows[cold] - size
        neighbours = arrivals.neighbours[places]
        known, where = np.unique(neighbours, return_inverse=True)
        values = np.where(np.isin(known, prediction.cart), 0.0, of_known(known))
        shares[:, cold] = np.einsum(
            "an,ean->ea", arrivals.weights[places], values[:, where.reshape(neighbours.shape)]
        )
    return shares
