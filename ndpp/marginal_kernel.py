"""The marginal kernel K = I − (I + L)⁻¹: P(S ⊆ basket) = det(K_S)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ndpp.kernel import BLOCK, Indices, Kernel, Vector

_DENSE = 8  # a matrix product is faster than one product per pair if it has at most this many times the pairs


@dataclass(frozen=True, eq=False)
class MarginalKernel:
    """Off the diagonal K_ij = w_i w_j f_i Q f_jᵀ, with w = 1/(1+d) and the kernel's `marginal_core` Q."""

    kernel: Kernel

    def _weights(self, rows: Indices | slice) -> Vector:
        weights: Vector = 1 / (1 + self.kernel.diagonal[rows])
        return weights

    @cached_property
    def inclusion(self) -> Vector:
        """K_ii = P(i is in the basket) = 1 − w_i + w_i² f_i Q f_iᵀ of all items."""
        inclusion = np.empty(self.kernel.size)
        for rows in self.kernel.blocks():
            factors = self.kernel.factors[rows].astype(np.float64)
            squares = np.einsum("ir,ir->i", factors @ self.kernel.marginal_core, factors)
            weights = self._weights(rows)
            inclusion[rows] = 1 - weights + squares * weights**2
        return np.clip(inclusion, 0.0, 1.0)

    def lifts(self, first: Indices, second: Indices) -> Vector:
        """P(i and j) / (P(i) P(j)) = 1 − K_ij K_ji / (K_ii K_jj) of pairs of different rows.

        1 where P(i) or P(j) is 0. Fastest if pairs with the same first row are next to each other.
        """
        core = self.kernel.marginal_core
        products = np.empty(len(first))
        for start in range(0, len(first), BLOCK):
            part = slice(start, start + BLOCK)
            rows, places = np.unique(first[part], return_inverse=True)
            columns, partners = np.unique(second[part], return_inverse=True)
            factors, others = self.kernel.rows(rows), self.kernel.rows(columns)
            if len(rows) * len(columns) <= _DENSE * len(places):  # most pairs of a few rows
                block = (factors @ core @ others.T) * (factors @ core.T @ others.T)
                products[part] = block[places, partners]
                continue
            forward = np.einsum("ir,ir->i", (factors @ core)[places], others[partners])
            backward = np.einsum("ir,ir->i", (factors @ core.T)[places], others[partners])
            products[part] = forward * backward
        products *= (self._weights(first) * self._weights(second)) ** 2
        alone = self.inclusion[first] * self.inclusion[second]
        ratio: Vector = np.divide(products, alone, out=np.zeros(len(first)), where=alone > 0)
        return np.maximum(1 - ratio, 0.0)
