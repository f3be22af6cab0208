"""Gains of many items at once: Δ_i = L_ii − Σ_a (f_i·left_a)(f_i·right_a)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
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
    def columns(self) -> FloatArray:
        """What F is multiplied with, in the precision of F: left and right side by side, or W."""
        if self._whole is not None:
            both = self._whole
        else:  # equally long columns keep float32 far from its limits
            lengths = np.linalg.norm(self.right, axis=1) / np.maximum(
                np.linalg.norm(self.left, axis=0), _TINY
            )
            balance = np.where(lengths > 0, np.sqrt(lengths), 1.0)
            both = np.hstack([self.left * balance, self.right.T / balance])
        return np.ascontiguousarray(both, dtype=self.kernel.factors.dtype)

    @cached_property
    def spread(self) -> float:
        """Every term of the sum for Δ_i stays below spread · ‖f_i‖²."""
        lengths = np.linalg.norm(self.left, axis=0) * np.linalg.norm(self.right, axis=1)
        return self.kernel.core_norm + float(lengths.sum())

    @cached_property
    def growth(self) -> float:
        """The smallest μ with Δ_i ≤ L_ii + μ ‖f_i‖²: 0 for symmetric kernels, whose gains only shrink."""
        basis, halves = np.linalg.qr(np.hstack([self.left, self.right.T]))  # (R, r), (r, 2n)
        if not basis.size:
            return 0.0
        n = len(self.right)
        small = halves[:, :n] @ halves[:, n:].T
        return max(0.0, -float(np.linalg.eigvalsh(small + small.T)[0]) / 2)

    def scan(self, factors: FloatArray, rows: slice | Indices) -> FloatArray:
        """Unclamped gains in the precision of F, for `rows` whose factors are given: the fast way."""
        images = factors @ self.columns
        if self._whole is not None:
            gains: FloatArray = np.einsum("im,im->i", images, factors)
            return gains + self.kernel.diagonal[rows].astype(factors.dtype)
        n = len(self.right)
        used_up: FloatArray = np.einsum("im,im->i", images[:, :n], images[:, n:])
        return self.kernel.weights[rows].astype(factors.dtype) - used_up

    def exact(self, rows: Indices) -> Vector:
        """Unclamped gains in float64.

        Each row is its own small product, so equal items get equal gains wherever they stand.
        """
        gains = np.empty(len(rows))
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            factors = self.kernel.factors[part].astype(np.float64)[:, None, :]  # (m, 1, R)
            gains[start : start + BLOCK] = self._in_float64(factors, part)[:, 0]
        return gains

    def _in_float64(self, factors: Matrix, rows: slice | Indices) -> Matrix:
        """Gains (m, q) for factors (m, q, R): a stack of products, or one large one when m is 1."""
        if self._whole is not None:
            return self.kernel.diagonal[rows].reshape(len(factors), -1) + _dots(
                factors @ self._whole, factors
            )
        used_up = _dots(factors @ self.left, factors @ self.right.T)
        return self.kernel.weights[rows].reshape(len(factors), -1) - used_up

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
        steps = self.kernel.rank + 8
        scale = self.kernel.diagonal[rows] + self.spread * self.kernel.squared_norms[rows]
        limits = np.finfo(precision)
        return steps * (float(limits.eps) * scale + float(limits.tiny))


def _dots(one: Matrix, other: Matrix) -> Matrix:
    dots: Matrix = np.einsum("mqr,mqr->mq", one, other)
    return dots
