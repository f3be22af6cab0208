"""The rows among which pairs are searched, and the dense kernel over them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isqrt

import numpy as np

from ndpp.bundles.exchanges import Exchanges
from ndpp.conditional_kernel import ConditionalKernel
from ndpp.kernel import Indices, Matrix, Vector
from ndpp.submatrix_inverse import invert
from ndpp.tilt import Tilt

_LARGEST = 1024
_SMALLEST = 128
_PAIRS_OF_BOTH = 10 * _LARGEST**2  # limit of (pairs of chosen items) × (rows of the pool)²
NO_GAIN = 1e-10  # a pivot below this share of the item's scale is a rounding error


def pool_size(k: int) -> int:
    """The largest pool for bundles of k items: 1,024 rows up to k = 5, at least 128 for any k."""
    return max(_SMALLEST, min(_LARGEST, isqrt(_PAIRS_OF_BOTH // max(1, k * (k - 1) // 2))))


def least_gains(conditional: ConditionalKernel, tilt: Tilt, rows: Indices) -> Vector:
    """Gains of `rows` below these are rounding errors."""
    gains: Vector = NO_GAIN * conditional.kernel.item_scales[rows] ** 2 * tilt.at(rows)
    return gains


def pair_strengths(conditional: ConditionalKernel, tilt: Tilt, rows: Indices) -> Vector:
    """τ_i² (K_ii + μ ‖f_i‖²): the determinant of a pair is at most the product of its two strengths.

    It is K_ii K_jj − K_ij K_ji ≤ K_ii K_jj + (K_ij − K_ji)²/4, and |K_ij − K_ji|/2 ≤ μ ‖f_i‖ ‖f_j‖ if μ is at
    least the spectral norm of (W − Wᵀ)/2. So a pair with a row outside the pool has one weak item.
    """
    core = conditional.kernel.core - conditional.left @ conditional.right  # W
    skew = float(np.abs(core - core.T).sum(axis=1).max(initial=0.0)) / 2  # ‖·‖_∞ ≥ ‖·‖₂ for a skew matrix
    gains = np.maximum(conditional.all_fast_gains()[rows], 0.0)
    strengths: Vector = tilt.at(rows) * (gains + skew * conditional.kernel.squared_norms[rows])
    return strengths


@dataclass(frozen=True, eq=False)
class Pool:
    """The tilted kernel K, dense over the rows B among which pairs are searched."""

    conditional: ConditionalKernel
    tilt: Tilt
    rows: Indices  # B (n,), ascending

    @classmethod
    def of(cls, conditional: ConditionalKernel, tilt: Tilt, candidates: Indices, size: int) -> Pool:
        """All candidates if there are at most `size`, else those with the largest `pair_strengths`."""
        if len(candidates) > size:
            strength = pair_strengths(conditional, tilt, candidates)
            candidates = np.sort(candidates[np.argsort(-strength, kind="stable")[:size]])
        return cls(conditional, tilt, candidates)

    @cached_property
    def _factors(self) -> Matrix:
        return self.conditional.kernel.rows(self.rows)

    @cached_property
    def _tau(self) -> Vector:
        return np.sqrt(self.tilt.at(self.rows))

    @cached_property
    def block(self) -> Matrix:
        """K_BB (n, n)."""
        block = self.conditional.submatrix(self.rows)
        block *= self._tau
        block *= self._tau[:, None]
        return block

    def given(self, items: Indices) -> Exchanges | None:
        """The exchanges of the chosen items with rows of the pool; None if det(K_S) is 0."""
        kernel, tau = self.conditional.kernel, np.sqrt(self.tilt.at(items))
        factors = kernel.rows(items)
        right, columns = self.conditional.rows_and_columns(factors)
        block = (right @ factors.T + np.diag(kernel.diagonal[items])) * np.outer(tau, tau)
        kept, inverse = invert(block, kernel.item_scales[items] * tau)
        if len(kept) < len(items):
            return None
        forward = right @ self._factors.T * np.outer(tau, self._tau)  # K_SB
        backward = self._factors @ columns * np.outer(self._tau, tau)  # K_BS
        taken = np.isin(self.rows, items)
        return Exchanges(self.block, backward, inverse, inverse @ forward, backward @ inverse, taken)

    def best_pair(self, items: Indices) -> tuple[list[int], float]:
        """The two rows with the highest gain det(K_{S+ij}) / det(K_S), and the gain; no rows if it is 0."""
        exchanges = self.given(items)
        best = None if exchanges is None else exchanges.best_addition()
        if best is None:
            return [], 0.0
        rows = self.rows[list(best.entering)]
        if best.ratio <= float(np.prod(least_gains(self.conditional, self.tilt, rows))):
            return [], 0.0
        return rows.tolist(), best.ratio
