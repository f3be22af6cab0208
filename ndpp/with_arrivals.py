"""A prediction over a catalogue in which the model's items are followed by arrivals, mixtures of these."""

from __future__ import annotations

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
        size = self.prediction.model.kernel.size
        cold = rows >= size
        shares = np.empty((len(EXPERTS), len(rows)))
        shares[:, ~cold] = self.prediction.expert_shares(rows[~cold])
        if cold.any():
            places = rows[cold] - size
            neighbours = self.arrivals.neighbours[places]
            known, where = np.unique(neighbours, return_inverse=True)
            in_cart = np.isin(known, self.prediction.cart)
            of_known = np.where(in_cart, 0.0, self.prediction.expert_shares(known))
            shares[:, cold] = np.einsum(
                "an,ean->ea", self.arrivals.weights[places], of_known[:, where.reshape(neighbours.shape)]
            )
        return shares
