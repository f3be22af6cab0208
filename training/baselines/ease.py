"""EASE-R (Steck 2019): the linear item-to-item model with a closed form."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from training.baselines.base import BaselineUnavailableError, LinearBaseline, incidence
from training.baskets import Baskets

_GIB = 2**30


class Ease(LinearBaseline):
    """Ridge regression of each item on all the others: B = I − P Diag(1/diag P) with P = (XᵀX + λI)⁻¹."""

    name: ClassVar[str] = "ease"

    def __init__(self, regularisation: float = 50.0, memory_limit: float = 2 * _GIB) -> None:
        self.regularisation = regularisation
        self.memory_limit = memory_limit

    def fit(self, baskets: Baskets) -> Self:
        """Invert the regularised Gram matrix; refuses where M×M numbers do not fit the limit."""
        size = len(baskets.catalogue)
        needed = 2 * 8 * size**2  # the Gram matrix and its inverse in float64
        if needed > self.memory_limit:
            raise BaselineUnavailableError(
                f"{size:,} items are too many for EASE-R: its {size:,} × {size:,} inverse needs"
                f" {needed / _GIB:.1f} GiB, the limit is {self.memory_limit / _GIB:.1f} GiB"
            )
        X = incidence(baskets).astype(np.float64)
        inverse = np.linalg.inv((X.T @ X).toarray() + self.regularisation * np.eye(size))
        weights = inverse / -np.diag(inverse)
        np.fill_diagonal(weights, 0)
        self.weights = weights.astype(np.float32)
        return self
