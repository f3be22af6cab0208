"""Base classes of the baselines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from training.basket_matrix import cart_matrix
from training.baskets import Baskets, ItemRows
from training.recommender import Pasts, Recommender, Scores


class BaselineUnavailableError(Exception):
    """The baseline cannot be fitted to this data or on this machine; the message says why."""


class Baseline(Recommender):
    """A simple recommender to compare with."""

    @abstractmethod
    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:
        """Learn from `baskets`, tune hyperparameters on `validation` if there are any; returns itself."""


class LinearBaseline(Baseline):
    """An item's score is the sum over the cart of a weight from each cart item to it."""

    needs_cart = True
    weights: sparse.csr_array | NDArray[np.float32]  # (M, M): row y holds the weights from item y

    def scores(self, carts: Sequence[ItemRows], histories: Pasts | None = None) -> Scores:  # noqa: ARG002
        """Σ_{y∈cart} weights[y]."""
        summed = cart_matrix(carts, self.weights.shape[0]) @ self.weights
        return np.asarray(summed.toarray() if sparse.issparse(summed) else summed)
