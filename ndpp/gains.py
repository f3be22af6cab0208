"""Gains of many items at once: Δ_i = L_ii − Σ_a (f_i·left_a)(f_i·right_a)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ndpp.kernel import BLOCK, FloatArray, Indices, Kernel, Matrix, Vector

_TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class GainForm:
    """What turns rows of F into gains, for one conditioned cart of n items."""

    kernel: Kernel
    left: Matrix  # (R, n)
    right: Matrix  # (n, R)

    @cached_property
    def _whole(self) -> Matrix | None:
        """W of the conditional kernel Diag(d) + F W Fᵀ, formed only where it is the cheaper way."""
        return self.kernel.core - self.left @ self.right if 2 * len(self.right) > self.kernel.rank else None

    @cached_property
    def _lengths(self) -> tuple[Vector, Vector]:
        left, right = self.left, self.right
        return np.sqrt(np.einsum("rn,rn->n", left, left)), np.sqrt(np.einsum("nr,nr->n", right, right))

    @cached_property
    def _columns(self) -> FloatArray:
        """What F is multiplied with, in the precision of F: both sides in one, or W."""
        if self._whole is not None:
            return self._whole.astype(self.kernel.factors.dtype)
        return self._both_sides

    @cached_property
    def _both_sides(self) -> FloatArray:
        """left and rightᵀ side by side, (R, 2n), equally long to keep float32 far from its limits."""
        n, balance = len(self.right), balanced(*self._lengths)
        both = np.empty((self.kernel.rank, 2 * n), dtype=self.kernel.factors.dtype)
        np.multiply(self.left, balance, out=both[:, :n], casting="same_kind")
        np.divide(self.right.T, balance, out=both[:, n:], casting="same_kind")
        return both

    @cached_property
    def spread(self) -> float:
        """Every term of the sum for Δ_i stays below spread · ‖f_i‖²."""
        left, right = self._lengths
        return self.kernel.core_norm + float(left @ right)

    @property
    def steps(self) -> int:
        """How many roundings a gain goes through at most."""
        return self.kernel.rank + len(self.right) + 8

    @cached_property
    def growth(self) -> float:
        """The smallest μ with Δ_i ≤ L_ii + μ ‖f_i‖²: 0 for symmetric kernels, whose gains only shrink."""
        if not self.left.size:
            return 0.0
        # max(0, −λ_min) of the symmetric part of left · right, in the space that the two span
        n, triangle = len(self.right), np.asarray(np.linalg.qr(self._both, mode="r"))
        small = triangle[:, :n] @ triangle[:, n:].T
        return max(0.0, -float(np.linalg.eigvalsh(small + small.T)[0]) / 2)

    def scan(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """Unclamped gains in the precision of F, for `rows` whose factors are given: the fast way."""
        images = factors @ self._columns
        if self._whole is not None:
            gains: FloatArray = np.einsum("im,im->i", images, factors)
            return gains + self.kernel.diagonal[rows].astype(factors.dtype)
        n = len(self.right)
        used_up: FloatArray = np.einsum("im,im->i", images[:, :n], images[:, n:])
        return self.kernel.weights[rows].astype(factors.dtype) - used_up

    def all_gains(self) -> FloatArray:
        """Unclamped gains of the whole catalogue in the precision of F, block by block."""
        gains = np.empty(self.kernel.size, dtype=self.kernel.factors.dtype)
        for rows in self.kernel.blocks():
            gains[rows] = self.scan(self.kernel.factors[rows], rows)
        return gains

    def exact(self, rows: Indices) -> Vector:
        """Unclamped gains in float64.

        Each row is its own small product, so equal items get equal gains wherever they stand.
        """
        if len(rows) > BLOCK:
            parts = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
            return np.concatenate([self.exact(part) for part in parts])
        factors = self.kernel.rows(rows)[:, None, :]  # (m, 1, R)
        if self._whole is not None:
            return self.kernel.diagonal[rows] + _dots(factors @ self._whole, factors)
        images, n = factors @ self._both, len(self.right)
        return self.kernel.weights[rows] - _dots(images[:, :, :n], images[:, :, n:])

    @cached_property
    def _both(self) -> Matrix:
        """left and rightᵀ side by side in float64, (R, 2n)."""
        return np.concatenate([self.left, self.right.T], axis=1)

    def gains(self, rows: Indices) -> Vector:
        """Gains in float64, 0 where the gain is negative or no more than rounding."""
        raw = self.exact(rows)
        return np.where(raw > self.rounding(rows, np.dtype(np.float64)), raw, 0.0)

    def rounding(self, rows: slice | Indices, precision: np.dtype[np.floating[Any]]) -> Vector:
        """How far rounding in `precision` can move a gain: the usual bound on a sum of products."""
        eps, tiny = limits(precision)
        unit = self.steps * eps
        errors: Vector = (unit * self.spread) * self.kernel.squared_norms[rows]
        errors += unit * self.kernel.diagonal[rows]
        errors += self.steps * tiny
        return errors


@lru_cache
def limits(precision: np.dtype[np.floating[Any]]) -> tuple[float, float]:
    """The relative rounding step and the smallest normal number of a floating type."""
    found = np.finfo(precision)
    return float(found.eps), float(found.tiny)


def balanced(left: Vector, right: Vector) -> Vector:
    """Factors c that make c · left and right / c equally long."""
    factors: Vector = np.sqrt(np.maximum(right, _TINY) / np.maximum(left, _TINY))
    return factors


def _dots(one: Matrix, other: Matrix) -> Vector:
    dots: Vector = np.einsum("mqr,mqr->m", one, other)
    return dots
