"""The conditional kernel L^Y and its diagonal, the gains of all items given the set Y."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel, Matrix, Vector

_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class ConditionalKernel:
    """L^Y = Diag(d) + F (X − left · right) Fᵀ for a set Y of n items.

    The gain of item i is Δ_i = det(L_{Y+i}) / det(L_Y) = (L^Y)_ii = L_ii − Σ_a (f_i·left_a)(f_i·right_a).
    """

    kernel: Kernel
    left: Matrix  # X F_Yᵀ L_Y⁻¹ (R, n)
    right: Matrix  # F_Y X (n, R)

    def rows_and_columns(self, factors: Matrix) -> tuple[Matrix, Matrix]:
        """F_S W and W F_Sᵀ for the factors (m, R) of a set S, without forming W = X − left · right."""
        rows = self.kernel.times_core(factors) - (factors @ self.left) @ self.right
        columns = self.kernel.times_core_transposed(factors).T - self.left @ (self.right @ factors.T)
        return rows, columns

    def submatrix(self, rows: Indices) -> Matrix:
        """The dense L^Y restricted to `rows`."""
        factors = self.kernel.rows(rows)
        return self.rows_and_columns(factors)[0] @ factors.T + np.diag(self.kernel.diagonal[rows])

    @cached_property
    def _core(self) -> Matrix | None:
        """W = X − left · right if multiplying with it is the cheaper way, else None."""
        return self.kernel.core - self.left @ self.right if 2 * len(self.right) > self.kernel.rank else None

    @cached_property
    def _lengths(self) -> tuple[Vector, Vector]:
        left, right = self.left, self.right
        return np.sqrt(np.einsum("rn,rn->n", left, left)), np.sqrt(np.einsum("nr,nr->n", right, right))

    @cached_property
    def _columns(self) -> FloatArray:
        """The matrix that F is multiplied with, in the precision of F: W, or left and rightᵀ side by side.

        left and rightᵀ are scaled to equal lengths to keep float32 far from its limits.
        """
        if self._core is not None:
            return self._core.astype(self.kernel.factors.dtype)
        n, balance = len(self.right), balanced(*self._lengths)
        both = np.empty((self.kernel.rank, 2 * n), dtype=self.kernel.factors.dtype)
        np.multiply(self.left, balance, out=both[:, :n], casting="same_kind")
        np.divide(self.right.T, balance, out=both[:, n:], casting="same_kind")
        return both

    @cached_property
    def _both(self) -> Matrix:
        """left and rightᵀ side by side in float64, (R, 2n)."""
        return np.concatenate([self.left, self.right.T], axis=1)

    @cached_property
    def spread(self) -> float:
        """Every term of the sum for Δ_i is below spread · ‖f_i‖²."""
        left, right = self._lengths
        return self.kernel.core_norm + float(left @ right)

    @cached_property
    def growth(self) -> float:
        """The smallest μ with Δ_i ≤ L_ii + μ ‖f_i‖²: 0 for symmetric kernels, whose gains never grow."""
        if not self.left.size:
            return 0.0
        # max(0, −λ_min) of the symmetric part of left · right, in the space that the two span
        n, triangle = len(self.right), np.asarray(np.linalg.qr(self._both, mode="r"))
        small = triangle[:, :n] @ triangle[:, n:].T
        return max(0.0, -float(np.linalg.eigvalsh(small + small.T)[0]) / 2)

    def fast_gains(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """Gains of `rows` with these factors in the precision of F; rounding can make them negative."""
        images = factors @ self._columns
        if self._core is not None:
            gains: FloatArray = np.einsum("im,im->i", images, factors)
            return gains + self.kernel.diagonal[rows].astype(factors.dtype)
        n = len(self.right)
        loss: FloatArray = np.einsum("im,im->i", images[:, :n], images[:, n:])
        return self.kernel.weights[rows].astype(factors.dtype) - loss

    def all_fast_gains(self) -> FloatArray:
        """`fast_gains` of the whole catalogue, block by block."""
        gains = np.empty(self.kernel.size, dtype=self.kernel.factors.dtype)
        for rows in self.kernel.blocks():
            gains[rows] = self.fast_gains(self.kernel.factors[rows], rows)
        return gains

    def exact_gains(self, rows: Indices) -> Vector:
        """Gains in float64; rounding can make them negative.

        Each row is a small product of its own, so equal items get equal gains in any position.
        """
        if len(rows) > BLOCK:
            parts = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
            return np.concatenate([self.exact_gains(part) for part in parts])
        factors = self.kernel.rows(rows)[:, None, :]  # (m, 1, R)
        if self._core is not None:
            return self.kernel.diagonal[rows] + _dots(factors @ self._core, factors)
        images, n = factors @ self._both, len(self.right)
        return self.kernel.weights[rows] - _dots(images[:, :, :n], images[:, :, n:])

    def gains_of(self, rows: Indices) -> Vector:
        """Gains in float64, 0 where a gain is negative or within its rounding error."""
        raw = self.exact_gains(rows)
        return np.where(raw > self.rounding(rows, np.dtype(np.float64)), raw, 0.0)

    def rounding(self, rows: slice | Indices, precision: np.dtype[np.floating[Any]]) -> Vector:
        """A bound on the rounding errors of gains in `precision`: the usual one for a sum of products."""
        eps, tiny = limits(precision)
        steps = self.kernel.rank + len(self.right) + 8  # roundings of one gain
        errors: Vector = (steps * eps * self.spread) * self.kernel.squared_norms[rows]
        errors += steps * eps * self.kernel.diagonal[rows]
        errors += steps * tiny
        return errors


@lru_cache
def limits(precision: np.dtype[np.floating[Any]]) -> tuple[float, float]:
    """The relative rounding step and the smallest normal number of a floating type."""
    found = np.finfo(precision)
    return float(found.eps), float(found.tiny)


def balanced(left: Vector, right: Vector) -> Vector:
    """Factors c for which c · left and right / c are equally long, given the lengths of both."""
    factors: Vector = np.sqrt(np.maximum(right, _TINY) / np.maximum(left, _TINY))
    return factors


def _dots(one: Matrix, other: Matrix) -> Vector:
    dots: Vector = np.einsum("mqr,mqr->m", one, other)
    return dots
