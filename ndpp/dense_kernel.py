"""All entries of a small catalogue's kernel: gains given a cart without a product with F."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ndpp.conditional import Conditional
from ndpp.kernel import Kernel, Vector

DENSE_ITEMS = 4_096  # all entries take 8 M² bytes: 87 MB for 3,300 items, 134 MB for these
_ROWS = 256  # computed at once, in float64


@dataclass(frozen=True, eq=False)
class DenseKernel:
    """L_ij / (s_i s_j) without the diagonal d, and its transpose, in float32: 8 M² bytes.

    s are the kernel's `item_scales`: no entry exceeds 1, and nothing comes near the limits of float32.
    """

    kernel: Kernel
    forward: NDArray[np.float32]  # (M, M): row y holds L_yi
    backward: NDArray[np.float32]  # (M, M): row y holds L_iy

    def __post_init__(self) -> None:
        shape = (self.kernel.size, self.kernel.size)
        if not self.forward.shape == self.backward.shape == shape:
            raise ValueError(f"the kernel has {self.kernel.size} items, its entries {self.forward.shape}")

    @classmethod
    def of(cls, kernel: Kernel) -> DenseKernel:
        """Compute all entries in float64 and round them to float32."""
        factors, scales = kernel.factors.astype(np.float64), kernel.item_scales
        shrink = np.zeros(kernel.size)  # a scale of 0 means a row of zeros
        np.divide(1.0, scales, out=shrink, where=scales > 0)
        forward = np.empty((kernel.size, kernel.size), dtype=np.float32)
        for start in range(0, kernel.size, _ROWS):
            rows = slice(start, start + _ROWS)
            forward[rows] = kernel.times_core(factors[rows]) @ factors.T * shrink[rows, None] * shrink
        return cls(kernel, forward, np.ascontiguousarray(forward.T))

    def operations(self, items: int) -> float:
        """Multiply-adds for the gains given a cart of `items` items."""
        return float(items * (items + 1) + 1) * self.kernel.size

    def suits(self, items: int) -> bool:
        """Whether a cart of `items` items costs less than the 2 n R M operations with F."""
        return items <= self.kernel.rank

    def gains(self, conditional: Conditional) -> Vector:
        """Gains Δ_i = L_ii − Σ_ab L_ia (L̃_Y⁻¹)_ab L_bi of all items; rounding can make them negative."""
        used, all_scales = conditional.used, self.kernel.item_scales
        scales = all_scales[used]
        inverse = conditional.inverse * (scales[:, None] * scales)
        images = inverse.astype(np.float32) @ self.forward.take(used, axis=0)
        loss: Vector = all_scales**2 * np.einsum("ai,ai->i", images, self.backward.take(used, axis=0))
        return np.subtract(self.kernel.weights, loss, out=loss)
