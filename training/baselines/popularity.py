"""The most bought items, whatever is in the cart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from training.baselines.base import Baseline, Scores, SetScores
from training.baskets import Baskets, ItemRows


class Popularity(Baseline):
    """An item's score is the number of baskets that hold it."""

    name: ClassVar[str] = "popularity"

    def fit(self, baskets: Baskets) -> Self:
        """Count."""
        self.counts = baskets.counts.astype(np.float64)
        return self

    def scores(self, carts: Sequence[ItemRows]) -> Scores:
        """The counts, for every cart."""
        return np.tile(self.counts, (len(carts), 1))

    def set_scores(self, sets: Sequence[ItemRows]) -> SetScores:
        """The mean log count of the set's items."""
        logs = np.log1p(self.counts)
        return np.array([logs[np.unique(rows)].mean() if len(rows) else 0.0 for rows in sets])
