"""What everything that ranks items has in common, and the co-purchase counts most baselines start from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from training.baskets import Baskets, ItemRows

Scores = NDArray[np.floating[Any]]  # (n, M)
LogLikelihoods = NDArray[np.float64]  # (n,)


class BaselineUnavailableError(Exception):
    """This baseline cannot be fitted here; the message says why in one sentence."""


class Recommender(ABC):
    """Scores every item of the catalogue for many carts at once.

    Higher is better. Items that are in the cart already get a score too: who ranks leaves them out. The order
    of a cart and repeated items in it make no difference.
    """

    name: ClassVar[str]

    @abstractmethod
    def scores(self, carts: Sequence[ItemRows]) -> Scores:
        """One row of M finite scores for each cart."""

    def log_likelihoods(self, sets: Sequence[ItemRows]) -> LogLikelihoods | None:  # noqa: ARG002
        """The log-probability of each set as a whole basket; None if the model gives none."""
        return None


class Baseline(Recommender):
    """A recommender learned from counts, to compare with."""

    @abstractmethod
    def fit(self, baskets: Baskets) -> Self:
        """Learn from `baskets` and return itself."""


class LinearBaseline(Baseline):
    """An item's score is the sum over the cart of a weight from each cart item to it."""

    weights: sparse.csr_array | NDArray[np.float32]  # (M, M): row y holds y's votes

    def scores(self, carts: Sequence[ItemRows]) -> Scores:
        """Σ_{y∈cart} weights[y]."""
        summed = indicators(carts, self.weights.shape[0]) @ self.weights
        return np.asarray(summed.toarray() if sparse.issparse(summed) else summed)


def indicators(carts: Sequence[ItemRows], size: int) -> sparse.csr_array:
    """A sparse (n, M) matrix with a 1 for each item that a cart holds, however often."""
    offsets = np.concatenate([[0], np.cumsum([len(cart) for cart in carts])]).astype(np.int64)
    rows = np.concatenate([np.empty(0, np.int32), *carts]).astype(np.int32)
    matrix = sparse.csr_array((np.ones(len(rows), np.float32), rows, offsets), shape=(len(carts), size))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def incidence(baskets: Baskets) -> sparse.csr_array:
    """The baskets as a sparse 0/1 matrix, (n, M)."""
    ones = np.ones(len(baskets.items), np.float32)
    return sparse.csr_array(
        (ones, baskets.items, baskets.offsets), shape=(len(baskets), len(baskets.catalogue))
    )


def co_counts(baskets: Baskets) -> sparse.csr_array:
    """How many baskets hold both items, sparse (M, M), with an empty diagonal."""
    X = incidence(baskets)
    together = (X.T @ X).tocoo()
    apart = together.row != together.col
    entries = (together.data[apart], (together.row[apart], together.col[apart]))
    return sparse.csr_array(entries, shape=together.shape)
