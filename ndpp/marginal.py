"""The marginal kernel K = I − (I + L)⁻¹: how likely items are in a basket, alone and in pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ndpp.kernel import BLOCK, Indices, Kernel, Matrix, Vector


@dataclass(frozen=True, eq=False)
class Marginal:
    """K off the diagonal is f_i Q f_jᵀ / ((1+d_i)(1+d_j)), with Q = (I + X G)⁻¹ X and G = Fᵀ Diag(1/(1+d)) F.

    For a kernel given a cart the same holds with the core and the Gram matrix of the remaining items.
    """

    kernel: Kernel
    core: Matrix  # Q (R, R)

    @classmethod
    def of(cls, kernel: Kernel) -> Marginal:
        """The marginal kernel of a whole basket."""
        return cls(kernel, kernel.marginal_core)

    def inclusion(self, rows: Indices) -> Vector:
        """K_ii = P(i is in the basket)."""
        inclusion = np.empty(len(rows))
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            factors, open_share = self.kernel.rows(part), self._open_share(part)
            spectral = np.einsum("ir,ir->i", factors @ self.core, factors)
            inclusion[start : start + BLOCK] = 1 - open_share + spectral * open_share**2
        return np.clip(inclusion, 0.0, 1.0)

    @cached_property
    def _inclusion(self) -> Vector:
        return self.inclusion(np.arange(self.kernel.size))

    def lifts(self, first: Indices, second: Indices) -> Vector:
        """P(i and j) / (P(i) P(j)) = 1 − K_ij K_ji / (K_ii K_jj) of pairs of different rows; 1 where unknown.

        The pairs of one first row should follow each other.
        """
        products = np.empty(len(first))
        for start in range(0, len(first), BLOCK):
            part = slice(start, start + BLOCK)
            rows, places = np.unique(first[part], return_inverse=True)
            factors, others = self.kernel.rows(rows), self.kernel.rows(second[part])
            forward = np.einsum("ir,ir->i", (factors @ self.core)[places], others)
            backward = np.einsum("ir,ir->i", (factors @ self.core.T)[places], others)
            products[part] = forward * backward
        products *= (self._open_share(first) * self._open_share(second)) ** 2
        alone = self._inclusion[first] * self._inclusion[second]
        ratio: Vector = np.divide(products, alone, out=np.zeros(len(first)), where=alone > 0)
        return np.maximum(1 - ratio, 0.0)

    def _open_share(self, rows: Indices) -> Vector:
        share: Vector = 1 / (1 + self.kernel.diagonal[rows])
        return share
