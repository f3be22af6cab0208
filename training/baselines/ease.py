"""EASE-R (Steck 2019): a linear item-to-item model with a closed-form solution."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from training.baselines.base import BaselineUnavailableError, LinearBaseline
from training.basket_matrix import basket_matrix
from training.baskets import Baskets
from training.evaluation.metrics import rank_metrics
from training.evaluation.queries import Protocol, hold_one_out
from training.evaluation.ranks import rank_targets

_GIB = 2**30
_TUNED_ITEMS = 5_000  # up to this size another inverse takes only seconds
_QUERIES = 1_000
_FACTOR = 3.0  # step between the values of λ that are tried


class Ease(LinearBaseline):
    """Ridge regression of each item on all the others: B = I − P Diag(1/diag P) with P = (XᵀX + λI)⁻¹."""

    name: ClassVar[str] = "ease"

    def __init__(self, regularisation: float = 50.0, memory_limit: float = 2 * _GIB) -> None:
        self.regularisation = regularisation
        self.memory_limit = memory_limit

    def fit(self, baskets: Baskets, validation: Baskets | None = None) -> Self:
        """Choose λ by NDCG@10 on validation baskets; fails if the M×M matrices exceed the memory limit."""
        size = len(baskets.catalogue)
        needed = 2 * 8 * size**2  # the Gram matrix and its inverse in float64
        if needed > self.memory_limit:
            raise BaselineUnavailableError(
                f"{size:,} items are too many for EASE-R: its {size:,} × {size:,} inverse needs"
                f" {needed / _GIB:.1f} GiB, and the limit is {self.memory_limit / _GIB:.1f} GiB"
            )
        X = basket_matrix(baskets).astype(np.float64)
        gram = (X.T @ X).toarray()
        self._solve(gram)
        if validation is not None and (validation.sizes > 1).any() and size <= _TUNED_ITEMS:
            self._tune(gram, validation)
        return self

    def _solve(self, gram: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
        inverse = np.linalg.inv(gram + self.regularisation * np.eye(len(gram)))
        weights = inverse / -np.diag(inverse)
        np.fill_diagonal(weights, 0)
        self.weights = weights.astype(np.float32)

    def _tune(self, gram: np.ndarray[tuple[int, int], np.dtype[np.float64]], validation: Baskets) -> None:
        """Increase λ while that helps, then decrease it."""
        queries = hold_one_out(validation, Protocol.PAPER, np.random.default_rng(0)).first(_QUERIES)

        def quality() -> float:
            return float(rank_metrics(rank_targets(self, queries))["ndcg@10"].mean())

        best, chosen, weights = quality(), self.regularisation, self.weights
        for factor in (_FACTOR, 1 / _FACTOR):
            improved = True
            while improved:
                self.regularisation = chosen * factor
                self._solve(gram)
                improved = (found := quality()) > best
                if improved:
                    best, chosen, weights = found, self.regularisation, self.weights
        self.regularisation, self.weights = chosen, weights
