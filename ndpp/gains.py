"""Gains of many items at once: Δ_i = start_i − Σ_m (f_i·left_m)(f_i·right_m)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ndpp.kernel import FloatArray, Indices, Kernel, Matrix, Vector


@dataclass(frozen=True, eq=False)
class GainForm:
    """What turns rows of F into gains, for one conditioned cart."""

    kernel: Kernel
    start: Vector  # (M,): L_ii, or d when the whole conditional core is in `left`
    left: Matrix  # (R, m)
    right: Matrix | None  # (R, m); None stands for the identity
    spread: float  # |Δ_i − d_i| and every term of its sum stay below spread · ‖f_i‖²

    @classmethod
    def of_cart(cls, kernel: Kernel, left: Matrix, right: Matrix) -> GainForm:
        """From the cart's terms left (R, n) and right (n, R), in whichever form is cheaper."""
        lengths = np.linalg.norm(left, axis=0) * np.linalg.norm(right, axis=1)
        spread = kernel.core_norm + float(lengths.sum())
        if 2 * len(right) <= kernel.rank:
            return cls(kernel, kernel.weights, left, right.T, spread)
        return cls(kernel, kernel.diagonal, left @ right - kernel.core, None, spread)

    @cached_property
    def _columns(self) -> FloatArray:
        """left and right side by side, in the precision of F: one product serves both."""
        both = self.left if self.right is None else np.hstack([self.left, self.right])
        return np.ascontiguousarray(both, dtype=self.kernel.factors.dtype)

    def scan(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """Unclamped gains in the precision of F, for `rows` whose factors are given: the fast way."""
        images = factors @ self._columns
        width = self.left.shape[1]
        other = factors if self.right is None else images[:, width:]
        start = self.start[rows].astype(factors.dtype)
        gains: FloatArray = start - np.einsum("im,im->i", images[:, :width], other)
        return gains

    def exact(self, rows: Indices) -> Vector:
        """Unclamped gains in float64.

        Each row is its own small product, so equal items get equal gains wherever they stand.
        """
        factors = self.kernel.factors[rows].astype(np.float64)[:, None, :]  # (n, 1, R)
        other = factors if self.right is None else factors @ self.right
        gains: Vector = self.start[rows] - np.matmul(factors @ self.left, other.transpose(0, 2, 1))[:, 0, 0]
        return gains

    def everything(self) -> Vector:
        """Unclamped gains of the whole catalogue in float64, block by block."""
        gains = np.empty(self.kernel.size)
        for rows in self.kernel.blocks():
            factors = self.kernel.factors[rows].astype(np.float64)
            other = factors if self.right is None else factors @ self.right
            gains[rows] = self.start[rows] - np.einsum("im,im->i", factors @ self.left, other)
        return gains

    def rounding(self, rows: slice | Indices, precision: np.dtype[np.floating]) -> NDArray[np.float64]:
        """How far rounding in `precision` can move a gain: the usual bound on a sum of products."""
        steps = self.kernel.rank + 8
        scale = self.kernel.diagonal[rows] + self.spread * self.kernel.squared_norms[rows]
        return steps * float(np.finfo(precision).eps) * scale
