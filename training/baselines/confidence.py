"""Association rules with one item as antecedent."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from training.baselines.base import LinearBaseline
from training.basket_matrix import co_occurrences
from training.baskets import Baskets


class Confidence(LinearBaseline):
    """The share of the baskets with y that also hold i, count(i, y) / n_y, summed over the cart."""

    name: ClassVar[str] = "confidence"

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:  # noqa: ARG002
        """Count pairs and divide each row by the item's count."""
        together = co_occurrences(baskets).tocoo()
        together.data = (together.data / baskets.counts[together.row]).astype(np.float32)
        self.weights = together.tocsr()
        return self
