"""Association rules with one item on the left."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from training.baselines.base import LinearBaseline
from training.baskets import Baskets
from training.incidence import co_counts


class Confidence(LinearBaseline):
    """Of the baskets with y, the share that also holds i: count(i, y) / n_y, summed over the cart."""

    name: ClassVar[str] = "confidence"

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:  # noqa: ARG002
        """Count pairs and divide each row by its item's count."""
        together = co_counts(baskets).tocoo()
        together.data = (together.data / baskets.counts[together.row]).astype(np.float32)
        self.weights = together.tocsr()
        return self
