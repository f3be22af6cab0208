"""Item-to-item nearest neighbours."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from training.baselines.base import LinearBaseline
from training.baskets import Baskets
from training.incidence import co_counts


class ItemKNN(LinearBaseline):
    """Cosine with shrinkage: count(i, y) / √((nᵢ + s)(n_y + s)), summed over the cart."""

    name: ClassVar[str] = "item_knn"

    def __init__(self, shrinkage: float = 10.0) -> None:
        self.shrinkage = shrinkage  # keeps two items bought once, together, from being perfect neighbours

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:  # noqa: ARG002
        """Count pairs and weigh them."""
        together = co_counts(baskets).tocoo()
        scale = 1 / np.sqrt(baskets.counts + self.shrinkage)
        together.data = (together.data * scale[together.row] * scale[together.col]).astype(np.float32)
        self.weights = together.tocsr()
        return self
