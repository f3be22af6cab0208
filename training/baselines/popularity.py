"""Popularity: the most frequent items, whatever is in the cart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from training.baselines.base import Baseline
from training.baskets import Baskets, ItemRows
from training.recommender import LogLikelihoods, Pasts, Scores


class Popularity(Baseline):
    """An item's score is its share of baskets; as a model of sets, items are independent."""

    name: ClassVar[str] = "popularity"

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:  # noqa: ARG002
        """Count; half a basket is added to keep the shares away from 0 and 1."""
        self.shares = (baskets.counts + 0.5) / (len(baskets) + 1)
        return self

    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:  # noqa: ARG002
        """The same shares for every cart."""
        return np.tile(self.shares, (len(carts), 1))

    def log_likelihoods(self, sets: Sequence[ItemRows]) -> LogLikelihoods:
        """Σ log p over the set plus Σ log(1 − p) over all other items."""
        odds = np.log(self.shares) - np.log1p(-self.shares)
        nothing = np.log1p(-self.shares).sum()
        return np.array([nothing + odds[np.unique(rows)].sum() for rows in sets], dtype=np.float64)
