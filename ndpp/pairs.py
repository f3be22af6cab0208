"""All entries of a small kernel at hand: gains given a cart from its own rows, without a product with F."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndpp.conditional import Conditional
from ndpp.kernel import Kernel, Vector

Table = NDArray[np.float32]

_ROWS = 256  # computed at once, in float64


@dataclass(frozen=True, eq=False)
class PairTable:
    """L_ij / (s_i s_j) without the diagonal d, and its transpose, in float32: 8 M² bytes.

    With s, the kernel's `item_scales`, no entry exceeds 1, nor does anything come near the limits of float32.
    """

    kernel: Kernel
    squared_scales: Vector  # s_i²
    forward: Table  # (M, M): row y holds L_yi
    backward: Table  # (M, M): row y holds L_iy

    @classmethod
    def of(cls, kernel: Kernel) -> PairTable:
        """Compute all entries in float64, then round them."""
        factors, scales = kernel.factors.astype(np.float64), kernel.item_scales
        shrink = np.zeros(kernel.size)  # an item without any scale has nothing but zeros
        np.divide(1.0, scales, out=shrink, where=scales > 0)
        forward = np.empty((kernel.size, kernel.size), dtype=np.float32)
        for start in range(0, kernel.size, _ROWS):
            rows = slice(start, start + _ROWS)
            forward[rows] = kernel.times_core(factors[rows]) @ factors.T * shrink[rows, None] * shrink
        return cls(kernel, scales**2, forward, np.ascontiguousarray(forward.T))

    def operations(self, items: int) -> float:
        """Multiply-adds of the gains given a cart of so many items."""
        return float(items * (items + 1) + 1) * self.kernel.size

    def suits(self, items: int) -> bool:
        """Whether a cart of so many items costs less this way than by 2 n R M operations with F."""
        return items <= self.kernel.rank

    def gains(self, state: Conditional) -> Vector:
        """Unclamped gains Δ_i = L_ii − Σ_ab L_ia (L̃_Y⁻¹)_ab L_bi of all items, from entries in float32."""
        used = state.used
        scales = self.kernel.item_scales[used]
        inverse = state.inverse * (scales[:, None] * scales)
        images = inverse.astype(np.float32) @ self.forward.take(used, axis=0)
        gains: Vector = self.squared_scales * np.einsum("ai,ai->i", images, self.backward.take(used, axis=0))
        return np.subtract(self.kernel.weights, gains, out=gains)
