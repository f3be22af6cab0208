"""Item-to-item nearest neighbours."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from training.baselines.base import LinearBaseline
from training.basket_matrix import co_occurrences
from training.baskets import Baskets


class ItemKNN(LinearBaseline):
    """Cosine with shrinkage: count(i, y) / √((nᵢ + s)(n_y + s)), summed over the cart."""

    name: ClassVar[str] = "item_knn"

    def __init__(self, shrinkage: float = 10.0) -> None:
        self.shrinkage = shrinkage  # otherwise two items bought once, together, would have similarity 1

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:  # noqa: ARG002
        """Count pairs and divide by the item counts."""
        together = co_occurrences(baskets).tocoo()
        scale = 1 / np.sqrt(baskets.counts + self.shrinkage)
        together.data = (together.data * scale[together.row] * scale[together.col]).astype(np.float32)
        self.weights = together.tocsr()
        return self
