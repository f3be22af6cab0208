"""What all baselines have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from training.baskets import Baskets, ItemRows
from training.incidence import indicators
from training.recommender import Recommender, Scores


class BaselineUnavailableError(Exception):
    """This baseline cannot be fitted here; the message says why in one sentence."""


class Baseline(Recommender):
    """A recommender learned from counts, to compare with."""

    @abstractmethod
    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:
        """Learn from `baskets`, choose by `validation` where there is something to choose, return itself."""


class LinearBaseline(Baseline):
    """An item's score is the sum over the cart of a weight from each cart item to it."""

    weights: sparse.csr_array | NDArray[np.float32]  # (M, M): row y holds y's votes

    def scores(self, carts: Sequence[ItemRows]) -> Scores:
        """Σ_{y∈cart} weights[y]."""
        summed = indicators(carts, self.weights.shape[0]) @ self.weights
        return np.asarray(summed.toarray() if sparse.issparse(summed) else summed)
