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
        return row_norms(self.left.T), row_norms(self.right)

    @cached_property
    def sides(self) -> tuple[FloatArray, FloatArray]:
        """left and rightᵀ (R, n) in the precision of F, equally long to keep float32 far from its limits."""
        left, right = np.split(self._both_sides, 2, axis=1)
        return left, right

    @cached_property
    def _columns(self) -> FloatArray:
        """What F is multiplied with, in the precision of F: both sides in one, or W."""
        if self._whole is not None:
            return self._whole.astype(self.kernel.factors.dtype)
        return self._both_sides

    @cached_property
    def _both_sides(self) -> FloatArray:
        """`sides` in one array, (R, 2n)."""
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
        return float(growths(self.left, self.right))

    def scan(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """Unclamped gains in the precision of F, for `rows` whose factors are given: the fast way."""
        if isinstance(rows, slice) and rows == slice(None):
            return self._scanned
        images = factors @ self._columns
        if self._whole is not None:
            gains: FloatArray = np.einsum("im,im->i", images, factors)
            return gains + self.kernel.diagonal[rows].astype(factors.dtype)
        n = len(self.right)
        used_up: FloatArray = np.einsum("im,im->i", images[:, :n], images[:, n:])
        return self.kernel.weights[rows].astype(factors.dtype) - used_up

    @cached_property
    def _scanned(self) -> FloatArray:
        """The scan of the whole catalogue: a ranking and the total of its scores both want it."""
        gains = np.empty(self.kernel.size, dtype=self.kernel.factors.dtype)
        for rows in self.kernel.blocks():
            gains[rows] = self.scan(self.kernel.factors[rows], rows)
        gains.flags.writeable = False
        return gains

    def exact(self, rows: Indices) -> Vector:
        """Unclamped gains in float64.

        Each row is its own small product, so equal items get equal gains wherever they stand.
        """
        if len(rows) > BLOCK:
            parts = [rows[start : start + BLOCK] for start in range(0, len(rows), BLOCK)]
            return np.concatenate([self.exact(part) for part in parts])
        return self._in_float64(self.kernel.rows(rows)[:, None, :], rows)[:, 0]

    @cached_property
    def _both(self) -> Matrix:
        """left and rightᵀ side by side in float64, (R, 2n)."""
        return np.concatenate([self.left, self.right.T], axis=1)

    def _in_float64(self, factors: Matrix, rows: slice | Indices) -> Matrix:
        """Gains (m, q) for factors (m, q, R): a stack of products, or one large one when m is 1."""
        if self._whole is not None:
            return self.kernel.diagonal[rows].reshape(factors.shape[:2]) + _dots(
                factors @ self._whole, factors
            )
        images, n = factors @ self._both, len(self.right)
        used_up = _dots(images[:, :, :n], images[:, :, n:])
        return self.kernel.weights[rows].reshape(factors.shape[:2]) - used_up

    def gains(self, rows: Indices) -> Vector:
        """Gains in float64, 0 where the gain is negative or no more than rounding."""
        raw = self.exact(rows)
        return np.where(raw > self.rounding(rows, np.dtype(np.float64)), raw, 0.0)

    def everything(self) -> Vector:
        """Unclamped gains of the whole catalogue in float64, block by block."""
        gains = np.empty(self.kernel.size)
        for rows in self.kernel.blocks():
            factors = self.kernel.factors[rows].astype(np.float64)[None, :, :]  # (1, m, R)
            gains[rows] = self._in_float64(factors, rows)[0]
        return gains

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


def growths(left: Matrix, right: Matrix) -> Vector:
    """max(0, −λ_min) of the symmetric part of left · right, for a stack of them: (…, R, n) and (…, n, R)."""
    n = left.shape[-1]
    if not left.shape[-2] * n:
        return np.zeros(left.shape[:-2])
    both = np.concatenate([left, np.swapaxes(right, -1, -2)], axis=-1)
    triangle: Matrix = np.asarray(np.linalg.qr(both, mode="r"))
    small = triangle[..., :n] @ np.swapaxes(triangle[..., n:], -1, -2)
    lowest = np.linalg.eigvalsh(small + np.swapaxes(small, -1, -2))[..., 0] / 2
    return np.maximum(-lowest, 0.0)


def balanced(left: Vector, right: Vector) -> Vector:
    """Factors c that make c · left and right / c equally long."""
    factors: Vector = np.sqrt(np.maximum(right, _TINY) / np.maximum(left, _TINY))
    return factors


def row_norms(rows: Matrix) -> Vector:
    """The length of each row."""
    norms: Vector = np.sqrt(np.einsum("nr,nr->n", rows, rows))
    return norms


def _dots(one: Matrix, other: Matrix) -> Matrix:
    dots: Matrix = np.einsum("mqr,mqr->mq", one, other)
    return dots
